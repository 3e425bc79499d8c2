import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject, NamespacedName } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { anchorAnnotations, guardAnnotations, guardLabels } from "../../installation/anchor.ts";
import type { GuardName } from "../../installation/guard/guard-view.ts";
import { policyNameOf } from "./policy.ts";

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

/** How a request that a guard has to refuse was answered. */
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
 * Only the refusal by our own policy, with the text of the rule for probes, proves that it is enforced. `allowed`: it certainly is
 * not. Everything else, also a refusal by RBAC, by another policy, or of a namespace that does not exist, proves nothing. Spec:
 * anchor-guard.md 6.2.
 */
export function verdictOn(
  answer: ProbeAnswer,
  { policyName, message }: ProbeRule,
): "denied" | "allowed" | "unknown" {
  if (answer.kind === "accepted") return "allowed";
  const { error } = answer;
  if (!(error instanceof ApiError) || error.status !== 403) return "unknown";
  const text = error.causes[0]?.message ?? "";
  const isOurs = text.startsWith(`ValidatingAdmissionPolicy '${policyName}'`);
  return isOurs && text.endsWith(message) ? "denied" : "unknown";
}

const minRounds = 6;
/** More than twice the second in which each API server reads policies anew. */
const minLastingMs = 2_500;
const paceMs = minLastingMs / (minRounds - 1);

/** When a round of probes was sent and answered, in ms. */
export interface ProbeTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * Rounds of probes, one after the other, each over a new connection: six that were denied without a break, for so long that every API server behind an address
 * was asked or has read the policies. Spec: anchor-guard.md 5 and 6.2.
 */
export class ProbeRounds {
  #count = 0;
  #since = 0;
  #until = 0;

  get areEnough(): boolean {
    return this.#count >= minRounds && this.#until - this.#since >= minLastingMs;
  }

  /** Any other answer than the denial starts the rounds anew. */
  note(isDenied: boolean, { sentAt, answeredAt }: ProbeTimes): void {
    if (!isDenied) {
      this.#count = 0;
      return;
    }
    if (this.#count === 0) this.#since = answeredAt;
    this.#count += 1;
    this.#until = sentAt;
  }

  /** How long to wait for the next round, in ms: so that the sixth is late enough, and no seventh is needed. */
  waitMs(now: number): number {
    // A timer may call a fraction of a millisecond too early.
    return Math.max(0, Math.ceil(this.#since + this.#count * paceMs - now) + 1);
  }
}

const namespaces = knownResource("v1", "Namespace");

export interface RecheckWork {
  readonly client: Pick<KubeClient, "list">;
  readonly prober: Pick<Prober, "anchorDeletion" | "creations">;
  readonly hubId: string;
  readonly anchors: readonly NamespacedName[];
  /** Told of each namespace that is guarded. */
  readonly onNamespace: (namespace: KubeObject) => void;
}

/**
 * Whether a cluster would let an anchor be deleted, or make one of nobody or a guarded namespace, by asking for it as a dry run. What cannot be asked
 * proves nothing. Spec: anchor-guard.md 6.1, step 5.
 */
export async function isUnguarded(
  { client, prober, hubId, anchors, onNamespace }: RecheckWork,
  signal: AbortSignal,
): Promise<boolean> {
  const labelSelector = `${guardLabels.namespace}=${hubId}`;
  const guarded = await client
    .list({ resource: namespaces, labelSelector }, { metadataOnly: true }, signal)
    .catch(() => ({ items: [] }));
  signal.throwIfAborted();
  guarded.items.forEach(onNamespace);
  const verdicts = await Promise.all([
    ...anchors.map((anchor) => prober.anchorDeletion(anchor, signal)),
    // Not by deletion: the controller has no right to delete namespaces, so that nobody would ask the guard.
    ...anchors.slice(0, 1).map(({ namespace }) => prober.creations(namespace, "new", signal)),
  ]);
  return verdicts.flat().includes("allowed");
}
