import { setEntries } from "../fields.ts";
import type { Transform } from "../transform.ts";
import { isWorkload } from "./pod-template.ts";
import {
  autoscalerOf,
  isAutoscaled,
  isAutoscaler,
  withLeastReplicas,
  type WorkloadOverride,
} from "./scaling.ts";

// Runs at most once. Spec: knative-operator.md 3.3.
const unsupported = "pingsource-mt-adapter";

/**
 * Sets the replicas of Deployments and the least number of replicas of HorizontalPodAutoscalers, but for those whose replicas an
 * override sets. Upstream overlooks the overrides of the two brokers, whose HorizontalPodAutoscalers have other names (D-40).
 * Spec: knative-operator.md 3.3.
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
