import { isRecord, recordAt, textAt } from "../../api/fields.ts";
import { type Manifest, groupOf } from "../../api/kubernetes.ts";
import { type Transform, invalidManifest, setEntries } from "../fields.ts";
import { isWorkload, type WorkloadOverride } from "./pod-template.ts";

// Their HorizontalPodAutoscalers decide on the replicas. Spec: knative-operator.md 3.3.
const autoscaled = new Set([
  "webhook",
  "activator",
  "3scale-kourier-gateway",
  "eventing-webhook",
  "mt-broker-ingress",
  "mt-broker-filter",
  "kafka-broker-dispatcher",
  "kafka-source-dispatcher",
  "kafka-channel-dispatcher",
]);

const autoscalers: ReadonlyMap<string, string> = new Map([
  ["mt-broker-ingress", "broker-ingress-hpa"],
  ["mt-broker-filter", "broker-filter-hpa"],
]);

/** Whether the replicas of a workload of this name are left to its HorizontalPodAutoscaler. */
export function isAutoscaled(name: string): boolean {
  return autoscaled.has(name);
}

/** Name of the HorizontalPodAutoscaler that a workload override of this name is about. Spec: knative-operator.md 3.9. */
export function autoscalerOf(name: string): string {
  return autoscalers.get(name) ?? name;
}

/** Whether an object is a HorizontalPodAutoscaler, of any version. */
export function isAutoscaler({ apiVersion, kind }: Manifest): boolean {
  return kind === "HorizontalPodAutoscaler" && groupOf(apiVersion) === "autoscaling";
}

/** The workload that a HorizontalPodAutoscaler scales; the empty string for none. */
export function scaledBy(autoscaler: Manifest): string {
  return textAt(recordAt(autoscaler, "spec", "scaleTargetRef"), "name") ?? "";
}

/**
 * The workloads whose overrides want no pods although the release has a HorizontalPodAutoscaler for them. An autoscaler keeps at least one pod, so these workloads
 * go without theirs.
 */
export function stoppedWorkloads(
  overrides: readonly WorkloadOverride[],
  manifests: readonly Manifest[],
): ReadonlySet<string> {
  const scaled = manifests.filter(isAutoscaler).map(scaledBy);
  return new Set(scaled.filter((name) => wantedReplicas(name, overrides) === 0));
}

/** The replicas that overrides set for a workload; the last one wins. */
function wantedReplicas(
  workload: string,
  overrides: readonly WorkloadOverride[],
): number | undefined {
  return overrides.findLast(({ name, replicas }) => name === workload && replicas !== undefined)
    ?.replicas;
}

/** Whether an object is the HorizontalPodAutoscaler of one of these workloads. */
export function isAutoscalerOf(workloads: ReadonlySet<string>, manifest: Manifest): boolean {
  return isAutoscaler(manifest) && workloads.has(scaledBy(manifest));
}

/**
 * Raises minReplicas of a HorizontalPodAutoscaler, and maxReplicas by as much; never lowers them. An absent
 * minReplicas counts as 0, as in upstream (D-40). Throws FleetError ManifestInvalid. Spec: knative-operator.md 3.3.
 */
export function withLeastReplicas(manifest: Manifest, replicas: number): Manifest {
  const least = numberIn(manifest, "minReplicas") ?? 0;
  if (least >= replicas) return manifest;
  const most = numberIn(manifest, "maxReplicas");
  const range = most === undefined ? {} : { maxReplicas: most + replicas - least };
  return setEntries(manifest, ["spec"], { minReplicas: replicas, ...range });
}

function numberIn(manifest: Manifest, name: string): number | undefined {
  const value = isRecord(manifest["spec"]) ? manifest["spec"][name] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return value;
  throw invalidManifest(manifest, `has no number in its field ${name}`);
}

// Runs at most once. Spec: knative-operator.md 3.3.
const unsupported = "pingsource-mt-adapter";

/**
 * Sets replicas of Deployments and minReplicas of HorizontalPodAutoscalers, unless an override sets them. Upstream
 * misses overrides of the two brokers, whose HorizontalPodAutoscalers have other names (D-40). Spec:
 * knative-operator.md 3.3.
 */
export function highAvailability(
  replicas: number | undefined,
  overrides: readonly WorkloadOverride[],
): Transform {
  if (replicas === undefined) return (manifest) => manifest;
  const own = overrides.filter((override) => override.replicas !== undefined);
  const names = new Set(own.flatMap(({ name }) => [name, autoscalerOf(name)]));
  return (manifest) => {
    const { name = "" } = manifest.metadata;
    if (names.has(name)) return manifest;
    if (isAutoscaler(manifest)) return withLeastReplicas(manifest, replicas);
    return !isWorkload(manifest, ["Deployment"]) || name === unsupported || isAutoscaled(name)
      ? manifest
      : setEntries(manifest, ["spec"], { replicas });
  };
}
