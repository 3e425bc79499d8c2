import { recordAt } from "../api/fields.ts";
import { asciiText } from "../api/foreign-text.ts";
import type { KubeObject, ManagedFieldsEntry, Manifest } from "../api/kubernetes.ts";
import { hasField } from "./managed-fields.ts";

/** Path of the replicas of a workload. */
export const scalePath = ["f:spec", "f:replicas"];
// Immutable: only a writer of the whole workload owns this field.
const selectorPath = ["f:spec", "f:selector"];

/** Managers of autoscalers that may scale to zero: KEDA, and the controller of HorizontalPodAutoscalers. */
const autoscalers: readonly string[] = ["keda", "keda-operator", "kube-controller-manager"];

/**
 * Whether another writer scaled a workload to zero against the wish of its installer: it wants no pods, and neither its installer, an autoscaler nor a
 * controller of Knative asked for that. False without managedFields. Spec: engine-facts.md table A.
 */
export function isScaledToZero(workload: KubeObject): boolean {
  if (recordAt(workload, "spec")["replicas"] !== 0 || isScaledByKnative(workload)) return false;
  if (autoscalers.includes(scalerOf(workload)?.manager ?? "")) return false;
  const entries = workload.metadata.managedFields ?? [];
  // A write of the scale may leave no owner of the replicas behind.
  if (entries.length === 0) return false;
  const writers = entries.filter((entry) => owns(entry, selectorPath));
  const appliers = writers.filter(({ operation }) => operation === "Apply");
  // Another tool may write the whole of a workload that was applied.
  const installers = appliers.length > 0 ? appliers : writers;
  return !installers.some((entry) => owns(entry, scalePath));
}

/** The last writer of the replicas of a workload. */
export interface Scaler {
  readonly manager: string;
  /** RFC 3339. Null: not known. */
  readonly time: string | null;
}

/** The last writer of the replicas of a workload. Undefined: not known. */
export function scalerOf({ metadata }: KubeObject): Scaler | undefined {
  const [last] = (metadata.managedFields ?? [])
    .filter((entry) => owns(entry, scalePath))
    .toSorted((a, b) => ((a.time ?? "") < (b.time ?? "") ? 1 : -1));
  if (last?.manager === undefined) return undefined;
  return { manager: asciiText(last.manager.slice(0, 128)), time: last.time ?? null };
}

/** The part of the managedFields that `isScaledToZero` reads. */
export function scaleFieldsOf({ metadata }: KubeObject): readonly ManagedFieldsEntry[] {
  const paths = [scalePath, selectorPath];
  return (metadata.managedFields ?? []).flatMap((entry) => {
    const owned = paths.filter((path) => owns(entry, path));
    if (owned.length === 0) return [];
    const fields = Object.fromEntries(owned.map(([, field = ""]) => [field, {}]));
    const { operation = "", manager = "", time = "" } = entry;
    return [
      {
        manager: manager.slice(0, 128),
        operation: operation.slice(0, 16),
        time: time.slice(0, 32),
        fieldsV1: { "f:spec": fields },
      },
    ];
  });
}

function owns({ fieldsV1 = {} }: ManagedFieldsEntry, path: readonly string[]): boolean {
  return hasField(fieldsV1, path);
}

/** Whether a controller of Knative scales a workload, to zero while nothing needs it. */
function isScaledByKnative(workload: Manifest): boolean {
  const { apiVersion, kind, metadata } = workload;
  const isKafkaDispatcher =
    apiVersion === "apps/v1" &&
    kind === "StatefulSet" &&
    /^kafka-[a-z]+-dispatcher$/.test(metadata.name ?? "");
  return isKafkaDispatcher || isPingSourceAdapter(workload);
}

/** Whether an object is the PingSource adapter, whose scale and environment its controller takes over. */
export function isPingSourceAdapter({ apiVersion, kind, metadata }: Manifest): boolean {
  return (
    apiVersion === "apps/v1" && kind === "Deployment" && metadata.name === "pingsource-mt-adapter"
  );
}
