import type { Endpoint } from "../../../../access/http/endpoint.ts";
import { isRecord } from "../../../../api/fields.ts";
import { words } from "../../commands.ts";
import { UsageError } from "../../usage-error.ts";

const versions = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
] as const;

/** What a client asks of a credential plugin. */
export interface ExecRequest {
  /** Version of the answer that the client wants. */
  readonly apiVersion: (typeof versions)[number];
  /** The server that it will send the credential to; absent: it did not say. */
  readonly cluster?: Readonly<Record<string, unknown>>;
}

/**
 * Reads `KUBERNETES_EXEC_INFO`; some clients do not set it and take version v1. Throws UsageError, which quotes nothing of it. Source: KEP 541.
 */
export function execRequestOf(text: string | undefined): ExecRequest {
  if (text === undefined || text === "") return { apiVersion: versions[0] };
  const request = parsed(text);
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
 * Throws UsageError when the client would send the credential elsewhere than the ClusterProfile says: a kubeconfig that is older than the profile, or
 * that somebody changed, must not carry a token to a server that the hub does not name.
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
