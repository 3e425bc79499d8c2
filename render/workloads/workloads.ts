import type { Manifest } from "../../api/kubernetes.ts";
import { type Fields, merged, setEntries } from "../fields.ts";
import type { Transform } from "../transform.ts";
import { byContainer } from "./by-container.ts";
import { withResources } from "./container-resources.ts";
import { changeContainers, isWorkload, setPodFields, withoutPodField } from "./pod-template.ts";
import { withProbes } from "./probes.ts";
import {
  autoscalerOf,
  isAutoscaled,
  isAutoscaler,
  withLeastReplicas,
  type WorkloadOverride,
} from "./scaling.ts";
import { withVariables } from "./variables.ts";

/**
 * Applies overrides in their order: to the Deployment or StatefulSet of that name, to the Jobs with that generateName, and, for
 * replicas, to the HorizontalPodAutoscaler of that name. Has to run before `withoutGenerateName`. Throws FleetError
 * ManifestInvalid. Spec: knative-operator.md 3.9.
 */
export function workloads(overrides: readonly WorkloadOverride[]): Transform {
  return (manifest) => {
    if (isAutoscaler(manifest)) return scaled(manifest, overrides);
    const name = addressOf(manifest);
    // An empty name would hit all Jobs without a generateName, as it does upstream (D-38).
    if (name === "") return manifest;
    const own = overrides.filter((override) => override.name === name);
    return own.length === 0 ? manifest : overridden(manifest, own);
  };
}

/** The name that overrides call an object by; the empty string for what they cannot change. */
function addressOf(manifest: Manifest): string {
  const { name = "", generateName = "" } = manifest.metadata;
  if (isWorkload(manifest, ["Job"])) return generateName;
  return isWorkload(manifest, ["Deployment", "StatefulSet"]) ? name : "";
}

function scaled(manifest: Manifest, overrides: readonly WorkloadOverride[]): Manifest {
  return overrides
    .filter(({ name }) => autoscalerOf(name) === manifest.metadata.name)
    .reduce(
      (current, { replicas }) =>
        replicas === undefined ? current : withLeastReplicas(current, replicas),
      manifest,
    );
}

/** Field by field, each for all overrides at once: override by override the work would grow with the square of their number. */
function overridden(manifest: Manifest, overrides: readonly WorkloadOverride[]): Manifest {
  const valuesOf = <Field extends keyof WorkloadOverride>(field: Field) =>
    overrides.map((override) => override[field]);
  const labels = merged(valuesOf("labels").map((one = {}) => one));
  const annotations = merged(valuesOf("annotations").map((one = {}) => one));
  let result = overrides.reduce(withReplicas, manifest);
  for (const path of [["metadata"], ["spec", "template", "metadata"]]) {
    result = setEntries(result, [...path, "labels"], labels);
    result = setEntries(result, [...path, "annotations"], annotations);
  }
  result = setPodFields(result, merged(overrides.map(placementOf)));
  result = withResources(result, valuesOf("resources"));
  result = withEnv(result, valuesOf("env"));
  result = withProbes(result, "readinessProbe", valuesOf("readinessProbes"));
  result = withProbes(result, "livenessProbe", valuesOf("livenessProbes"));
  return valuesOf("hostNetwork").reduce(withHostNetwork, result);
}

function withReplicas(manifest: Manifest, { name, replicas }: WorkloadOverride): Manifest {
  return replicas === undefined || isAutoscaled(name) || isWorkload(manifest, ["Job"])
    ? manifest
    : setEntries(manifest, ["spec"], { replicas });
}

/** What replaces the manifest's own: only what holds something, but for an affinity, which may also be emptied. */
function placementOf(override: WorkloadOverride): Fields {
  const {
    nodeSelector = {},
    topologySpreadConstraints = [],
    tolerations = [],
    affinity,
  } = override;
  return {
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(topologySpreadConstraints.length === 0 ? {} : { topologySpreadConstraints }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(affinity === undefined ? {} : { affinity }),
  };
}

function withEnv(manifest: Manifest, overrides: readonly WorkloadOverride["env"][]): Manifest {
  const own = byContainer(overrides);
  if (own.size === 0) return manifest;
  return changeContainers(manifest, (container) => {
    const lists = own.get(container["name"])?.map(({ envVars = [] }) => envVars) ?? [];
    return withVariables(container, lists, manifest);
  });
}

/** `dnsPolicy` stays as it is when the host's network is switched off again, as upstream has it. */
function withHostNetwork(manifest: Manifest, hostNetwork: boolean | undefined): Manifest {
  if (hostNetwork === undefined) return manifest;
  return hostNetwork
    ? setPodFields(manifest, { hostNetwork, dnsPolicy: "ClusterFirstWithHostNet" })
    : withoutPodField(manifest, "hostNetwork");
}
