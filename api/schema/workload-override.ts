import { probeOverrides, resourceOverrides, volumeMounts } from "./container-overrides.ts";
import { envOverrides } from "./env-override.ts";
import { podPlacement } from "./pod-placement.ts";
import { int32, stringMap } from "./primitives.ts";

/** `workloads[]` and `deployments[]`. Spec: knative-operator.md 1.2. */
export const workloadOverride = {
  type: "object",
  required: ["name"],
  properties: {
    ...podPlacement,
    annotations: {
      ...stringMap,
      description: "Annotations to set on the workload and on its pods.",
    },
    env: envOverrides,
    hostNetwork: {
      type: "boolean",
      description:
        "Whether the pods use the node's network; true also sets dnsPolicy ClusterFirstWithHostNet.",
    },
    labels: { ...stringMap, description: "Labels to set on the workload and on its pods." },
    livenessProbes: {
      ...probeOverrides,
      description: "Settings of liveness probes, by container; what is not named stays as it is.",
    },
    name: {
      type: "string",
      description:
        "Name of a Deployment or StatefulSet of the release, or the generateName of one of its Jobs.",
    },
    readinessProbes: {
      ...probeOverrides,
      description: "Settings of readiness probes, by container; what is not named stays as it is.",
    },
    replicas: {
      ...int32,
      description:
        "Number of replicas. For a workload with a HorizontalPodAutoscaler: its least number of replicas.",
    },
    resources: {
      ...resourceOverrides,
      description: "Resource requests and limits, by container.",
    },
    version: { type: "string", description: "Accepted for compatibility; has no effect." },
    volumeMounts,
  },
} as const;
