import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject, NamespacedName } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { anchorAnnotations, guardAnnotations, guardLabels } from "../../installation/anchor.ts";
import type { GuardName } from "../../installation/guard/guard-view.ts";
import { policyNameOf } from "./policy.ts";

type Verdict = ReturnType<typeof verdictOn>;

/** The connection of a round of probes: a new one for each probe, or the usual one. */
export type ProbeConnection = "new" | "usual";

interface Probe {
  readonly method: "POST" | "DELETE";
  readonly path: string;
  readonly body: object;
}

const dryRun = "dryRun=All";
const probeName = "knfleet-enforcement-probe";

/** Sends requests that the guards of a cluster must refuse. Every request is a dry run. */
export class Prober {
  readonly #client: Pick<KubeClient, "request">;
  readonly #hubId: string;

  constructor(client: Pick<KubeClient, "request">, hubId: string) {
    this.#client = client;
    this.#hubId = hubId;
  }

  /** One round: tries to create a guarded namespace, and an anchor in a namespace that must exist. */
  async probeCreations(
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
    const guardedNamespace = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: probeName, labels, annotations: probe },
    };
    const inNamespace = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
    const connection = over === "new" ? { ownConnection: {} } : {};
    const creation = async (guard: GuardName, path: string, body: object): Promise<Verdict> => {
      const answer = await this.#send({ method: "POST", path, body }, connection, signal);
      return verdictOn(answer, this.#rule(guard, "CREATE"));
    };
    return Promise.all([
      creation("namespace-guard", "/api/v1/namespaces", guardedNamespace),
      creation("anchor-guard", inNamespace, anchor),
    ]);
  }

  /** Tries to delete a live anchor, over a new connection. */
  async probeDeletion(
    { namespace, name }: NamespacedName,
    signal: AbortSignal,
  ): Promise<Verdict | "gone"> {
    const inNamespace = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${inNamespace}/configmaps/${encodeURIComponent(name)}`;
    // The body says `dryRun` as well, because the server reads it before the query.
    const body = { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] };
    const probe: Probe = { method: "DELETE", path, body };
    const answer = await this.#send(probe, { ownConnection: {} }, signal);
    if (answer.kind === "error" && isNotFound(answer.error)) return "gone";
    return verdictOn(answer, this.#rule("anchor-guard", "DELETE"));
  }

  async #send(
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

/** The answer to a probe. */
export type ProbeAnswer =
  | { readonly kind: "accepted" }
  | { readonly kind: "error"; readonly error: unknown };

/** The rule that has to refuse a probe. */
export interface ProbeRule {
  readonly policyName: string;
  /** The text of the rule. */
  readonly message: string;
}

/** Texts of the rules that refuse probes, the same for every guard. Spec: anchor-guard.md 4, M1 and M2. */
export const probeMessages = {
  CREATE: "knfleet enforcement probe: denied as intended (CREATE)",
  DELETE: "knfleet enforcement probe: denied as intended (DELETE)",
} as const;

/**
 * `denied`: our own policy refused the probe with the text of its rule, which proves that the policy is enforced. `allowed`: it is not enforced.
 * `unanswered`: the server has no time, fails, or was not reached. `unknown`: anything else, such as a refusal by RBAC or by another policy, or a missing namespace.
 * Spec: anchor-guard.md 6.2.
 */
export function verdictOn(
  answer: ProbeAnswer,
  { policyName, message }: ProbeRule,
): "denied" | "allowed" | "unknown" | "unanswered" {
  if (answer.kind === "accepted") return "allowed";
  const { error } = answer;
  if (!(error instanceof ApiError) || error.status === 429 || error.status >= 500) {
    return "unanswered";
  }
  if (error.status !== 403) return "unknown";
  const text = error.causes[0]?.message ?? "";
  const isOurs = text.startsWith(`ValidatingAdmissionPolicy '${policyName}'`);
  return isOurs && text.endsWith(message) ? "denied" : "unknown";
}

const minRounds = 6;
/** More than twice the second after which each API server reads the policies again. */
const minSpanMs = 2_500;
const paceMs = minSpanMs / (minRounds - 1);

/** When a round of probes was sent and answered, in ms. */
export interface ProbeTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * Counts rounds of probes over new connections. Six denied rounds in a row over 2.5 s are enough: each API server behind the address was asked, or has
 * read the policies in that time. Spec: anchor-guard.md 5 and 6.2.
 */
export class ProbeRounds {
  #count = 0;
  #since = 0;
  #until = 0;

  get areEnough(): boolean {
    return this.#count >= minRounds && this.#until - this.#since >= minSpanMs;
  }

  /** Counts a round. A round that was not denied starts the count again. */
  note(isDenied: boolean, { sentAt, answeredAt }: ProbeTimes): void {
    if (!isDenied) {
      this.#count = 0;
      return;
    }
    if (this.#count === 0) this.#since = answeredAt;
    this.#count += 1;
    this.#until = sentAt;
  }

  /** How long to wait for the next round, in ms. The sixth round then ends after the required time, so that no seventh is needed. */
  waitMs(now: number): number {
    // A timer may fire a fraction of a millisecond too early.
    return Math.max(0, Math.ceil(this.#since + this.#count * paceMs - now) + 1);
  }
}

const namespaces = knownResource("v1", "Namespace");

export interface RecheckWork {
  readonly client: Pick<KubeClient, "list">;
  readonly prober: Pick<Prober, "probeDeletion" | "probeCreations">;
  readonly hubId: string;
  readonly anchors: readonly NamespacedName[];
  /** Called with each guarded namespace. */
  readonly onNamespace: (namespace: KubeObject) => void;
}

/** What a recheck shows. `unproven`: the cluster refuses all probes, but not by our policies. `unanswered`: some probes got no answer, and the other ones prove nothing. */
type Recheck = "guarded" | "unguarded" | "unproven" | "unanswered";

/**
 * Asks whether a cluster allows, as a dry run, to delete an anchor or to create a forged anchor or a guarded namespace. A probe that fails for another reason
 * proves nothing. Spec: anchor-guard.md 6.1, step 5.
 */
export async function recheck(
  { client, prober, hubId, anchors, onNamespace }: RecheckWork,
  signal: AbortSignal,
): Promise<Recheck> {
  const labelSelector = `${guardLabels.namespace}=${hubId}`;
  const guarded = await client
    .list({ resource: namespaces, labelSelector }, { metadataOnly: true }, signal)
    .catch(() => ({ items: [] }));
  signal.throwIfAborted();
  guarded.items.forEach(onNamespace);
  const verdicts = await Promise.all([
    ...anchors.map((anchor) => prober.probeDeletion(anchor, signal)),
    // The creation of a namespace, not its deletion: without the right to delete namespaces the request never reaches the guard.
    ...anchors.slice(0, 1).map(({ namespace }) => prober.probeCreations(namespace, "new", signal)),
  ]);
  const found = new Set(verdicts.flat());
  if (found.has("allowed")) return "unguarded";
  if (found.has("denied")) return "guarded";
  // A probe that was not answered may still prove something.
  return found.has("unknown") && !found.has("unanswered") ? "unproven" : "unanswered";
}
