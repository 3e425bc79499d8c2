import type { Endpoint } from "../../../../access/http/endpoint.ts";
import type { Credential } from "../../../../access/plugins/credential.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import { isRecord, jsonOf } from "../../../../api/fields.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { profileId, findProfile, onlyProfileName } from "../../hub/profiles.ts";
import type { Answer } from "../../main/report.ts";
import { words } from "../../output/steps.ts";
import { waysOf } from "../../spokes/spoke-reading.ts";

/** What a kubeconfig's `exec` runs: an ExecCredential. Throws UsageError, and FleetError. */
export async function giveCredential(fleet: Fleet): Promise<Answer> {
  const { args, env, flags, signal } = fleet;
  const name = onlyProfileName(args);
  if (fleet.asInput({}).terminal.stdout.isTTY === true) {
    throw new UsageError("A credential is not printed on a terminal: programs read it", [
      words("kubectl", "knfleet", "connect", name),
      words("kubectl", "knfleet", "kubeconfig", name),
    ]);
  }
  const request = execRequestOf(env["KUBERNETES_EXEC_INFO"]);
  const access = await fleet.access();
  const ways = await waysOf(access);
  const profile = await findProfile(name, { access, flags }, signal);
  const way = ways.resolve(profile);
  if (request.cluster !== undefined) {
    checkServer(request.cluster, way.endpoint, profileId(profile));
  }
  const credential = await ways.credential(way, signal);
  signal.throwIfAborted();
  return { text: execCredentialText(credential, request) };
}

const versions = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
] as const;

/** Request of a client to a credential plugin. */
interface ExecRequest {
  /** Version of the answer that the client wants. */
  readonly apiVersion: (typeof versions)[number];
  /** The server to which the client will send the credential; absent: unknown. */
  readonly cluster?: Readonly<Record<string, unknown>>;
}

/**
 * Reads `KUBERNETES_EXEC_INFO`. Clients that do not set it accept version v1. Throws UsageError, which quotes nothing of the variable. Source: KEP 541.
 */
export function execRequestOf(text: string | undefined): ExecRequest {
  if (text === undefined || text === "") return { apiVersion: versions[0] };
  const request = jsonOf(text);
  if (!isRecord(request)) throw new UsageError("KUBERNETES_EXEC_INFO is no JSON object");
  if (request["kind"] !== "ExecCredential") {
    throw new UsageError("KUBERNETES_EXEC_INFO is not of kind ExecCredential");
  }
  const apiVersion = versions.find((version) => version === request["apiVersion"]);
  if (apiVersion === undefined) {
    throw new UsageError(`KUBERNETES_EXEC_INFO is not of version ${versions.join(" or ")}`);
  }
  const spec = request["spec"] ?? {};
  const cluster = isRecord(spec) ? (spec["cluster"] ?? undefined) : spec;
  if (cluster !== undefined && !isRecord(cluster)) {
    throw new UsageError("spec of KUBERNETES_EXEC_INFO is not usable");
  }
  return { apiVersion, ...(cluster === undefined ? {} : { cluster }) };
}

/**
 * Throws UsageError when the client would send the credential to another server than that of the ClusterProfile. A kubeconfig that is outdated or was
 * changed must not carry a token to a server that the hub does not name.
 */
export function checkServer(
  cluster: Readonly<Record<string, unknown>>,
  endpoint: Endpoint,
  id: string,
): void {
  const next = [words("kubectl", "knfleet", "kubeconfig", id, "--merge")];
  if (!isSameServer(cluster["server"], endpoint.server)) {
    throw new UsageError(
      `The kubeconfig has another server than ClusterProfile ${id}: it gets no credential`,
      next,
    );
  }
  if (cluster["insecure-skip-tls-verify"] === true && endpoint.insecureSkipTlsVerify !== true) {
    throw new UsageError(
      `The kubeconfig does not verify the server of ClusterProfile ${id}: it gets no credential`,
      next,
    );
  }
}

function isSameServer(server: unknown, wanted: string): boolean {
  if (typeof server !== "string") return false;
  const [given, own] = [server, wanted].map((text) => URL.parse(text)?.href.replace(/\/+$/, ""));
  return given !== undefined && given === own;
}

/** The ExecCredential with the credential in it. Only for the standard output that a client reads. */
export function execCredentialText(
  { authorization, certificate, expiresAtMs }: Credential,
  { apiVersion }: Pick<ExecRequest, "apiVersion">,
): string {
  const token = authorization && tokenOf(authorization.reveal());
  const status = {
    ...(expiresAtMs === undefined
      ? {}
      : { expirationTimestamp: timestampOf(new Date(expiresAtMs)) }),
    ...(token === undefined ? {} : { token }),
    ...(certificate === undefined
      ? {}
      : {
          clientCertificateData: certificate.certificatePem,
          clientKeyData: certificate.keyPem.reveal(),
        }),
  };
  return `${JSON.stringify({ kind: "ExecCredential", apiVersion, status })}\n`;
}

/** The token as text: a header has each byte of its UTF-8 as a character. */
function tokenOf(header: string): string {
  return Buffer.from(header.replace(/^Bearer /, ""), "latin1").toString("utf8");
}
