import { int32, int64, quantityMap } from "./primitives.ts";

/** Resource requirements by container. Spec: knative-operator.md 1.1, 1.2. */
export const resourceOverrides = {
  type: "array",
  items: {
    type: "object",
    required: ["container"],
    properties: {
      claims: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        description: "Accepted for compatibility; has no effect.",
        items: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string", description: "Name of a resource claim of the pod." },
            request: { type: "string", description: "Name of a request of that claim." },
          },
        },
      },
      container: { type: "string", description: "Name of the container." },
      limits: {
        ...quantityMap,
        description: "Limits to set, by resource name; limits that are not named stay as they are.",
      },
      requests: {
        ...quantityMap,
        description:
          "Requests to set, by resource name; requests that are not named stay as they are.",
      },
    },
  },
} as const;

/** Probe settings by container. Spec: knative-operator.md 1.2, 3.9. */
export const probeOverrides = {
  type: "array",
  items: {
    type: "object",
    required: ["container"],
    properties: {
      container: {
        type: "string",
        description: "Name of the container. An entry with nothing else removes the probe.",
      },
      failureThreshold: {
        ...int32,
        description: "Failures in a row after which the probe counts as failed.",
      },
      initialDelaySeconds: {
        ...int32,
        description: "Seconds between the start of the container and the first probe.",
      },
      periodSeconds: { ...int32, description: "Seconds between two probes." },
      successThreshold: {
        ...int32,
        description: "Successes in a row after which a failed probe counts as passed again.",
      },
      terminationGracePeriodSeconds: {
        ...int64,
        description:
          "Seconds the pod has to end by itself after the probe failed; overrides the pod's own period.",
      },
      timeoutSeconds: { ...int32, description: "Seconds after which one probe times out." },
    },
  },
} as const;

/** `volumeMounts` of a workload override, without effect. Spec: knative-operator.md 1.2. */
export const volumeMounts = {
  type: "array",
  description: "Accepted for compatibility; has no effect.",
  items: {
    type: "object",
    required: ["mountPath", "name"],
    properties: {
      mountPath: { type: "string", description: "Where the volume appears in the container." },
      mountPropagation: {
        type: "string",
        description: "How mounts are passed between host and container; None by default.",
      },
      name: { type: "string", description: "Name of the volume." },
      readOnly: { type: "boolean", description: "Whether the volume can only be read." },
      recursiveReadOnly: {
        type: "string",
        description: "Whether mounts below it are read-only too: Disabled, IfPossible or Enabled.",
      },
      subPath: { type: "string", description: "Path in the volume that is mounted." },
      subPathExpr: {
        type: "string",
        description: "Like subPath, with $(NAME) standing for the container's variables.",
      },
    },
  },
} as const;
