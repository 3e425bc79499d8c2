import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { NamespacedName } from "../../api/kubernetes.ts";
import { anchorAnnotations, guardAnnotations, guardLabels } from "../../installation/anchor.ts";
import type { GuardName } from "../../installation/guard/guard-request.ts";
import { policyNameOf } from "./policy.ts";
import { type ProbeAnswer, probeMessages, verdictOn } from "./probe.ts";

type Verdict = ReturnType<typeof verdictOn>;

/** What to ask over: a new connection for all probes of one round, or the usual one. */
export type ProbeConnection = "new" | "usual";

interface Probe {
  readonly method: "POST" | "DELETE";
  readonly path: string;
  readonly body: object;
}

const dryRun = "dryRun=All";
const probeName = "knfleet-enforcement-probe";

/** Asks an API server for what its guards have to refuse. Nothing is ever changed: every request is a dry run. */
export class Prober {
  readonly #client: Pick<KubeClient, "request">;
  readonly #hubId: string;

  constructor(client: Pick<KubeClient, "request">, hubId: string) {
    this.#client = client;
    this.#hubId = hubId;
  }

  /** One round: whether an anchor in that namespace, which must exist, and a namespace of ours are refused. */
  async creations(
    namespace: string,
    over: ProbeConnection,
    signal: AbortSignal,
  ): Promise<readonly Verdict[]> {
    const hubId = this.#hubId;
    const probe = { [guardAnnotations.probe]: "true" };
    const markers = {
      [anchorAnnotations.anchor]: "true",
      [anchorAnnotations.protected]: "true",
      [anchorAnnotations.componentUid]: "probe",
      [anchorAnnotations.hubId]: hubId,
    };
    const labels = { [guardLabels.namespace]: hubId };
    const anchor = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: probeName, annotations: { ...markers, ...probe } },
    };
    const house = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: probeName, labels, annotations: probe },
    };
    const inNamespace = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
    const connection = over === "new" ? { ownConnection: {} } : {};
    const creation = async (guard: GuardName, path: string, body: object): Promise<Verdict> => {
      const answer = await this.#answer({ method: "POST", path, body }, connection, signal);
      return verdictOn(answer, this.#rule(guard, "CREATE"));
    };
    return Promise.all([
      creation("namespace-guard", "/api/v1/namespaces", house),
      creation("anchor-guard", inNamespace, anchor),
    ]);
  }

  /** Whether the deletion of a live anchor is refused, asked over a new connection. */
  async anchorDeletion(
    { namespace, name }: NamespacedName,
    signal: AbortSignal,
  ): Promise<Verdict | "gone"> {
    const where = encodeURIComponent(namespace);
    const path = `/api/v1/namespaces/${where}/configmaps/${encodeURIComponent(name)}`;
    // In the body too, which the server reads first.
    const body = { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] };
    const probe: Probe = { method: "DELETE", path, body };
    const answer = await this.#answer(probe, { ownConnection: {} }, signal);
    if (answer.kind === "error" && isNotFound(answer.error)) return "gone";
    return verdictOn(answer, this.#rule("anchor-guard", "DELETE"));
  }

  async #answer(
    { method, path, body }: Probe,
    connection: { readonly ownConnection?: object },
    signal: AbortSignal,
  ): Promise<ProbeAnswer> {
    try {
      await this.#client.request(method, `${path}?${dryRun}`, body, signal, connection);
      return { kind: "accepted" };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "error", error };
    }
  }

  #rule(guard: GuardName, operation: keyof typeof probeMessages) {
    const policyName = policyNameOf(guard, this.#hubId);
    return { policyName, message: probeMessages[operation] };
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}
