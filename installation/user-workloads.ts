import type { ComponentKind } from "../api/component.ts";
import { isRecord, recordAt, textAt, listAt } from "../api/fields.ts";
import { foreignText } from "../api/foreign-text.ts";
import { groupOf, type KubeObject, isControlled, lastWriteAt } from "../api/kubernetes.ts";
import type { ResourceType } from "../api/resources.ts";

/** Label of the CRDs of event sources. */
export const sourceLabel = "duck.knative.dev/source=true";

/** API groups of the objects in which the users of a cluster use Knative. */
export const userGroups = [
  "serving.knative.dev",
  "eventing.knative.dev",
  "messaging.knative.dev",
  "flows.knative.dev",
  "sources.knative.dev",
] as const;

// Objects that Knative makes for others of these, such as a Configuration, are left out by their owner. Kinds that have no condition Ready are not listed.
const userKinds: Readonly<Record<string, readonly string[]>> = {
  "serving.knative.dev": ["Service", "Route", "DomainMapping"],
  "eventing.knative.dev": ["Broker", "Trigger"],
  "messaging.knative.dev": ["Channel", "Subscription"],
  "flows.knative.dev": ["Parallel", "Sequence"],
};

const ownKinds = new Set(Object.values(userKinds).flat());

/** Whether users use Knative by objects of a kind: one of Knative's own kinds, or a source, whose CRD is in `sources` as `plural.group`. */
export function isUserKind(
  { apiVersion, kind, plural }: ResourceType,
  sources: ReadonlySet<string>,
): boolean {
  const group = groupOf(apiVersion);
  return userKinds[group]?.includes(kind) === true || sources.has(`${plural}.${group}`);
}

/** The component that a workload needs. */
export function componentOfWorkload({ kind }: Pick<UserWorkload, "kind">): ComponentKind {
  const isServed = userKinds["serving.knative.dev"]?.includes(kind) === true;
  return isServed ? "KnativeServing" : "KnativeEventing";
}

/** What is known of one object in which a user of a cluster uses Knative. All texts come from the cluster and are bounded. */
export interface UserWorkload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Ms since the epoch. */
  readonly createdAt: number;
  /** Status of the condition Ready; `Unknown` without one. */
  readonly ready: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** When the condition got its status, in ms since the epoch; undefined without a condition. */
  readonly since: number | undefined;
  /** The status describes the current spec. */
  readonly isObserved: boolean;
  /** When somebody last wrote the object besides its status, in ms since the epoch; undefined: not known. */
  readonly changedAt: number | undefined;
}

const longest = { kind: 63, name: 253, reason: 128, message: 300 };
const mostLabels = 32;

/** The parts of an object that `userWorkloadOf` reads. What a list keeps of each object. */
export function userWorkloadPart({
  apiVersion,
  kind,
  metadata,
  ...fields
}: KubeObject): KubeObject {
  const { name, uid, resourceVersion, namespace, generation, creationTimestamp } = metadata;
  const { labels, ownerReferences, deletionTimestamp } = metadata;
  const { observedGeneration } = recordAt(fields, "status");
  const ready = readyIn(fields);
  const time = lastWriteAt({ metadata });
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(namespace !== undefined && { namespace }),
      ...(generation !== undefined && { generation }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(labels !== undefined && { labels }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...(time !== undefined && { managedFields: [{ time }] }),
    },
    status: { observedGeneration, ...(ready !== undefined && { conditions: [ready] }) },
  };
}

/** An object as a workload of a user; undefined for one that another object controls, and for one that is being deleted. */
export function userWorkloadOf(object: KubeObject): UserWorkload | undefined {
  const { kind, metadata } = object;
  const { namespace = "", name, labels = {}, generation } = metadata;
  if (isControlled(object) || metadata.deletionTimestamp !== undefined) return undefined;
  const { observedGeneration } = recordAt(object, "status");
  return {
    ...readyFieldsOf(readyIn(object)),
    kind: foreignText(kind, longest.kind),
    namespace: foreignText(namespace, longest.kind),
    name: foreignText(name, longest.name),
    labels: Object.fromEntries(Object.entries(labels).slice(0, mostLabels)),
    createdAt: timeOf(metadata.creationTimestamp) ?? 0,
    isObserved: generation === undefined || observedGeneration === generation,
    changedAt: timeOf(lastWriteAt({ metadata })),
  };
}

type ReadyFields = Pick<UserWorkload, "ready" | "reason" | "message" | "since">;

function readyIn(object: object): Readonly<Record<string, unknown>> | undefined {
  const conditions = listAt(recordAt(object, "status"), "conditions");
  return conditions.filter(isRecord).find(({ type }) => type === "Ready");
}

function readyFieldsOf({ status, ...ready }: ReturnType<typeof readyIn> = {}): ReadyFields {
  return {
    ready: status === "True" || status === "False" ? status : "Unknown",
    reason: foreignText(textAt(ready, "reason") ?? "", longest.reason),
    message: foreignText(textAt(ready, "message") ?? "", longest.message),
    since: timeOf(textAt(ready, "lastTransitionTime")),
  };
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}

/**
 * Whether a workload broke since a time, in ms since the epoch: it is older, and since then its condition Ready stopped being True, or its spec was changed and no controller has taken that
 * up. A workload that was broken before does not count. Needs no stored state, so that every process comes to the same answer. Spec: verify.md 1.
 */
export function isNewlyBroken(
  { createdAt, ready, since, isObserved, changedAt }: UserWorkload,
  time: number,
): boolean {
  // Times have whole seconds.
  const from = Math.floor(time / 1_000) * 1_000;
  if (createdAt >= from) return false;
  const brokeAt = isObserved ? since : changedAt;
  return !(isObserved && ready === "True") && brokeAt !== undefined && brokeAt >= from;
}

/** The kind by which a workload is counted: `Source` for all kinds that are not Knative's own, because a cluster names them. */
export function countedKind({ kind }: UserWorkload): string {
  return ownKinds.has(kind) ? kind : "Source";
}

/** Whether a workload is as its user wants it. */
export function isReadyWorkload({ ready, isObserved }: UserWorkload): boolean {
  return ready === "True" && isObserved;
}
