import type { KubeClient } from "../../access/kube-client.ts";
import { anchorAnnotations, guardAnnotations, guardLabels } from "../../api/anchor.ts";
import type { GuardName } from "../../api/guard/guard-request.ts";
import type { NamespacedName } from "../../api/kubernetes.ts";
import { policyNameOf } from "./policy.ts";
import { type ProbeAnswer, probeMessages, verdictOn } from "./probe.ts";

type Verdict = ReturnType<typeof verdictOn>;

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

  /** Whether an anchor in that namespace, which must exist, and a namespace of ours are refused, each over a new connection. */
  async creations(namespace: string, signal: AbortSignal): Promise<readonly Verdict[]> {
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
    return Promise.all([
      this.#creation("namespace-guard", { path: "/api/v1/namespaces", body: house }, signal),
      this.#creation("anchor-guard", { path: inNamespace, body: anchor }, signal),
    ]);
  }

  /** Whether the deletion of a live anchor is refused. */
  anchorDeletion(
    { namespace, name }: NamespacedName,
    signal: AbortSignal,
  ): Promise<Verdict | "gone"> {
    const where = encodeURIComponent(namespace);
    const path = `/api/v1/namespaces/${where}/configmaps/${encodeURIComponent(name)}`;
    return this.#deletion("anchor-guard", path, signal);
  }

  async #creation(
    guard: GuardName,
    { path, body }: { readonly path: string; readonly body: object },
    signal: AbortSignal,
  ): Promise<Verdict> {
    const alone = { ownConnection: true };
    const answer = await answerOf(
      this.#client.request("POST", `${path}?${dryRun}`, body, signal, alone),
      signal,
    );
    return verdictOn(answer, this.#rule(guard, "CREATE"));
  }

  async #deletion(guard: GuardName, path: string, signal: AbortSignal): Promise<Verdict | "gone"> {
    // In the body too, which the server reads first.
    const body = { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] };
    const alone = { ownConnection: true };
    const sent = this.#client.request("DELETE", `${path}?${dryRun}`, body, signal, alone);
    const answer = await answerOf(sent, signal);
    if (answer.kind === "error" && isNotFound(answer.error)) return "gone";
    return verdictOn(answer, this.#rule(guard, "DELETE"));
  }

  #rule(guard: GuardName, operation: keyof typeof probeMessages) {
    const policyName = policyNameOf(guard, this.#hubId);
    return { policyName, message: probeMessages[operation] };
  }
}

async function answerOf(sent: Promise<unknown>, signal: AbortSignal): Promise<ProbeAnswer> {
  try {
    await sent;
    return { kind: "accepted" };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "error", error };
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}
