import { isRecord } from "../../api/fields.ts";
import { type Manifest, isJob } from "../../api/kubernetes.ts";
import { type Fields, type Transform, mergeFields, setEntries } from "../fields.ts";
import {
  type ResourceOverrides,
  byContainer,
  changeContainers,
  isWorkload,
  setPodFields,
  withProbes,
  withResources,
  withVariables,
  withoutPodField,
  type WorkloadOverride,
} from "./pod-template.ts";
import { autoscalerOf, isAutoscaled, isAutoscaler, withLeastReplicas } from "./scaling.ts";

/**
 * Applies overrides in their order: to the Deployment or StatefulSet of that name, to the Jobs with that generateName, and, for
 * replicas, to the HorizontalPodAutoscaler of that name. `stopped` (`stoppedWorkloads`) get their replicas although they are autoscaled. Has to run before `withoutGenerateName`. Throws FleetError
 * ManifestInvalid. Spec: knative-operator.md 3.9.
 */
export function workloads(
  overrides: readonly WorkloadOverride[],
  stopped: ReadonlySet<string> = new Set(),
): Transform {
  return (manifest) => {
    if (isAutoscaler(manifest)) return withAutoscalerReplicas(manifest, overrides);
    const name = addressOf(manifest);
    // An empty name would hit all Jobs without a generateName, as it does upstream (D-38).
    if (name === "") return manifest;
    const own = overrides.filter((override) => override.name === name);
    return own.length === 0 ? manifest : withOverrides(manifest, own, stopped);
  };
}

/** The name that overrides call an object by; the empty string for what they cannot change. */
function addressOf(manifest: Manifest): string {
  const { name = "", generateName = "" } = manifest.metadata;
  if (isWorkload(manifest, ["Job"])) return generateName;
  return isWorkload(manifest, ["Deployment", "StatefulSet"]) ? name : "";
}

function withAutoscalerReplicas(
  manifest: Manifest,
  overrides: readonly WorkloadOverride[],
): Manifest {
  return overrides
    .filter(({ name }) => autoscalerOf(name) === manifest.metadata.name)
    .reduce(
      (current, { replicas }) =>
        replicas === undefined ? current : withLeastReplicas(current, replicas),
      manifest,
    );
}

/** Sets field by field for all overrides at once. Override by override the work would grow with the square of their number. */
function withOverrides(
  manifest: Manifest,
  overrides: readonly WorkloadOverride[],
  stopped: ReadonlySet<string>,
): Manifest {
  const valuesOf = <Field extends keyof WorkloadOverride>(field: Field) =>
    overrides.map((override) => override[field]);
  const labels = mergeFields(valuesOf("labels").map((one = {}) => one));
  const annotations = mergeFields(valuesOf("annotations").map((one = {}) => one));
  let result = overrides.reduce(withReplicas(stopped), manifest);
  for (const path of [["metadata"], ["spec", "template", "metadata"]]) {
    result = setEntries(result, [...path, "labels"], labels);
    result = setEntries(result, [...path, "annotations"], annotations);
  }
  result = setPodFields(result, mergeFields(overrides.map(placementOf)));
  result = withResources(result, valuesOf("resources"));
  result = withEnv(result, valuesOf("env"));
  result = withProbes(result, "readinessProbe", valuesOf("readinessProbes"));
  result = withProbes(result, "livenessProbe", valuesOf("livenessProbes"));
  return valuesOf("hostNetwork").reduce(withHostNetwork, result);
}

function withReplicas(stopped: ReadonlySet<string>) {
  return (manifest: Manifest, { name, replicas }: WorkloadOverride): Manifest => {
    const isLeft = isAutoscaled(name) && !stopped.has(name);
    return replicas === undefined || isLeft || isWorkload(manifest, ["Job"])
      ? manifest
      : setEntries(manifest, ["spec"], { replicas });
  };
}

/** Placement fields that replace those of the manifest. Empty fields replace nothing, except for an empty affinity. */
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

/** `dnsPolicy` stays when the host network is switched off again, as in upstream. */
function withHostNetwork(manifest: Manifest, hostNetwork: boolean | undefined): Manifest {
  if (hostNetwork === undefined) return manifest;
  return hostNetwork
    ? setPodFields(manifest, { hostNetwork, dnsPolicy: "ClusterFirstWithHostNet" })
    : withoutPodField(manifest, "hostNetwork");
}

/**
 * Sets requests and limits of containers in all Deployments, but for those whose resources a workload override sets. Spec:
 * knative-operator.md 3.8 (`spec.resources`).
 */
export function deprecatedResources(
  resources: ResourceOverrides | undefined,
  overrides: readonly WorkloadOverride[],
): Transform {
  const own = overrides.filter((override) => (override.resources?.length ?? 0) > 0);
  const names = new Set(own.map(({ name }) => name));
  return (manifest) =>
    isWorkload(manifest, ["Deployment"]) && !names.has(manifest.metadata.name ?? "")
      ? withResources(manifest, [resources])
      : manifest;
}

const sidecarLabel = "sidecar.istio.io/inject";

/**
 * Names every Job after the version, and keeps the sidecar of Istio out of its pods, because the Job would never end
 * with it. `generateName` stays until `withoutGenerateName`. Spec: knative-operator.md 3.5.
 */
export function jobs(short: "serving" | "eventing", version: string): Transform {
  return (manifest) => {
    if (!isJob(manifest)) return manifest;
    const { name, generateName = "" } = manifest.metadata;
    const base = name === undefined || name === "" ? generateName : `${name}-`;
    const named = {
      ...manifest,
      metadata: { ...manifest.metadata, name: `${base}${short}-${version}` },
    };
    const labels = templateLabelsOf(manifest);
    const decided = isRecord(labels) && (labels[sidecarLabel] ?? "") !== "";
    return decided
      ? named
      : setEntries(named, ["spec", "template", "metadata", "labels"], { [sidecarLabel]: "false" });
  };
}

/** Removes `metadata.generateName` from objects with a name, because server-side apply needs the name. */
export const withoutGenerateName: Transform = (manifest) => {
  const { generateName, ...metadata } = manifest.metadata;
  if (generateName === undefined || metadata.name === undefined) return manifest;
  return { ...manifest, metadata };
};

function templateLabelsOf(manifest: Manifest): unknown {
  let value: unknown = manifest;
  for (const field of ["spec", "template", "metadata", "labels"]) {
    if (!isRecord(value)) return undefined;
    value = value[field];
  }
  return value;
}
