import { withoutV } from "../../../api/component.ts";
import { type KubeObject, lastWriteAt, type OwnerReference } from "../../../api/kubernetes.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { conditionFieldsOf } from "../../../installation/pod-cause.ts";
import { type WorkloadState, workloadReadinessOf } from "../../../installation/readiness.ts";
import { type Scaler, scalerOf } from "../../../installation/scale.ts";
import {
  factsOf,
  isWorkloadKind,
  type WorkloadKind,
} from "../../../installation/workload-facts.ts";
import { itemsAt, numberAt, stringAt } from "../selection/fields.ts";

/** Which workload it is. */
export interface WorkloadKey {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
}

/** The name of a workload in a table, as kubectl writes it: most are Deployments, so that only other kinds are named. */
export function shortWorkloadName({ kind, name }: Pick<WorkloadKey, "kind" | "name">): string {
  return kind === "Deployment" ? name : `${kind.toLowerCase()}/${name}`;
}

/** `namespace/name` of a Deployment, `namespace/statefulset/name` of a StatefulSet. */
export function workloadId(key: WorkloadKey): string {
  return `${key.namespace}/${shortWorkloadName(key)}`;
}

/** Facts about one workload. Times are RFC 3339, or null when not known. */
export interface WorkloadFact extends WorkloadKey {
  /** Value of `app.kubernetes.io/name`. */
  readonly component: string | null;
  readonly componentUid: string | null;
  readonly owners: readonly OwnerReference[];
  readonly desired: number;
  readonly ready: number;
  readonly upToDate: number;
  readonly availableReplicas: number;
  readonly state: WorkloadState;
  /** As the controller judges it: its latest change is rolled out and its pods are available. */
  readonly available: boolean;
  /** Why it is not available, such as `0 of 1 pods available`. Empty when it is. */
  readonly progress: string;
  /** Since when it is in its state. */
  readonly changedAt: string | null;
  /** Who scaled it to zero. Null: nobody, or not known. */
  readonly scaler: Scaler | null;
  /** Message of the condition Available. Foreign text. */
  readonly message: string | null;
  readonly createdAt: string | null;
  readonly images: readonly string[];
  /** Version of the label, or else the tag of the first image, without a leading `v`. Null without both. */
  readonly version: string | null;
}

/** The facts of a workload as an API server returned it. `now`: see workloadReadinessOf. */
export function workloadFactOf(object: KubeObject, now?: Date): WorkloadFact {
  const { namespace = "", name, labels = {}, ownerReferences, creationTimestamp } = object.metadata;
  const label = labels["app.kubernetes.io/version"];
  const images = itemsAt(object, "spec", "template", "spec", "containers").flatMap(
    (container) => stringAt(container, "image") ?? [],
  );
  return {
    kind: isWorkloadKind(object.kind) ? object.kind : "Deployment",
    namespace,
    name,
    component: labels["app.kubernetes.io/name"] ?? null,
    componentUid: labels[componentUidLabel] ?? null,
    owners: ownerReferences ?? [],
    ...replicasOf(object),
    ...availabilityOf(object, now),
    createdAt: creationTimestamp ?? null,
    images,
    version: label === undefined ? tagOf(images[0] ?? "") : withoutV(label),
  };
}

function replicasOf(
  object: KubeObject,
): Pick<WorkloadFact, "desired" | "ready" | "upToDate" | "availableReplicas"> {
  const { wanted, available, updated } = factsOf(object);
  const ready = object.kind === "DaemonSet" ? "numberReady" : "readyReplicas";
  return {
    desired: wanted,
    ready: numberAt(object, "status", ready) ?? 0,
    upToDate: updated,
    availableReplicas: available,
  };
}

function availabilityOf(
  object: KubeObject,
  now: Date | undefined,
): Pick<WorkloadFact, "state" | "available" | "progress" | "changedAt" | "scaler" | "message"> {
  const { state, text } = workloadReadinessOf(object, undefined, now);
  const scaler = state === "scaledToZero" ? (scalerOf(object) ?? null) : null;
  const said = conditionFieldsOf(object, "Available");
  // Old pods may be available while a rollout fails.
  const isOfOld = state !== "available" && said?.["status"] === "True";
  const changed = isOfOld ? conditionFieldsOf(object, "Progressing") : said;
  // Other workloads have no conditions.
  const written = object.kind === "Deployment" ? undefined : lastWriteAt(object, "status");
  return {
    state,
    available: state === "available",
    progress: text,
    changedAt: scaler?.time ?? stringAt(changed, "lastTransitionTime") ?? written ?? null,
    scaler,
    message: stringAt(changed, "message"),
  };
}

/** The tag of an image reference, without a leading `v`. Null without a tag, for example with a digest only. */
export function tagOf(image: string): string | null {
  const [name = ""] = image.split("@");
  const last = name.slice(name.lastIndexOf("/") + 1);
  const at = last.indexOf(":");
  return at < 0 ? null : withoutV(last.slice(at + 1));
}
