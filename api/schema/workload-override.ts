import { podPlacement } from "./pod-placement.ts";
import { flag, int32, int64, quantity, quantityMap, stringMap, text } from "./primitives.ts";

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
            name: text("Name of a resource claim of the pod."),
            request: text("Name of a request of that claim."),
          },
        },
      },
      container: text("Name of the container."),
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
const probeOverrides = {
  type: "array",
  items: {
    type: "object",
    required: ["container"],
    properties: {
      container: text("Name of the container. An entry with nothing else removes the probe."),
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
const volumeMounts = {
  type: "array",
  description: "Accepted for compatibility; has no effect.",
  items: {
    type: "object",
    required: ["mountPath", "name"],
    properties: {
      mountPath: text("Where the volume appears in the container."),
      mountPropagation: text("How mounts are passed between host and container; None by default."),
      name: text("Name of the volume."),
      readOnly: flag("Whether the volume can only be read."),
      recursiveReadOnly: text(
        "Whether mounts below it are read-only too: Disabled, IfPossible or Enabled.",
      ),
      subPath: text("Path in the volume that is mounted."),
      subPathExpr: text("Like subPath, with $(NAME) standing for the container's variables."),
    },
  },
} as const;

const objectName = {
  type: "string",
  default: "",
  description: "Name of the object, in the workload's namespace.",
} as const;

const valueFrom = {
  type: "object",
  description: "Where the value comes from instead; must not be combined with a value.",
  properties: {
    configMapKeyRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A key of a ConfigMap.",
      required: ["key"],
      properties: {
        key: text("The key."),
        name: objectName,
        optional: flag("Whether the ConfigMap or key may be missing."),
      },
    },
    fieldRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A field of the pod, for example metadata.namespace or status.podIP.",
      required: ["fieldPath"],
      properties: {
        apiVersion: text("API version that fieldPath is written for; v1 by default."),
        fieldPath: text("Path of the field."),
      },
    },
    fileKeyRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A variable from an env file in a volume of the pod.",
      required: ["key", "path", "volumeName"],
      properties: {
        key: text("Name of the variable in the file."),
        optional: {
          type: "boolean",
          default: false,
          description: "Whether the file or the variable may be missing.",
        },
        path: text("Path of the file inside the volume: relative and without '..'."),
        volumeName: text("Name of the volume that holds the file."),
      },
    },
    resourceFieldRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A resource request or limit of a container, for example limits.memory.",
      required: ["resource"],
      properties: {
        containerName: text("The container; by default this one."),
        divisor: { ...quantity, description: "Unit the value is given in; 1 by default." },
        resource: text("The request or limit."),
      },
    },
    secretKeyRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A key of a Secret.",
      required: ["key"],
      properties: {
        key: text("The key."),
        name: objectName,
        optional: flag("Whether the Secret or key may be missing."),
      },
    },
  },
} as const;

/** `env` of a workload override. Spec: knative-operator.md 1.2. */
const envOverrides = {
  type: "array",
  description: "Environment variables to set in the workload's containers.",
  items: {
    type: "object",
    required: ["container"],
    properties: {
      container: text("Name of the container."),
      envVars: {
        type: "array",
        description: "Variables that are replaced, or added when the container lacks them.",
        items: {
          type: "object",
          required: ["name"],
          properties: {
            name: text("Name of the variable."),
            value: text("The value; $(NAME) stands for the value of an earlier variable."),
            valueFrom,
          },
        },
      },
    },
  },
} as const;

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
    hostNetwork: flag(
      "Whether the pods use the node's network; true also sets dnsPolicy ClusterFirstWithHostNet.",
    ),
    labels: { ...stringMap, description: "Labels to set on the workload and on its pods." },
    livenessProbes: {
      ...probeOverrides,
      description: "Settings of liveness probes, by container; what is not named stays as it is.",
    },
    name: text(
      "Name of a Deployment or StatefulSet of the release, or the generateName of one of its Jobs.",
    ),
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
    version: text("Accepted for compatibility; has no effect."),
    volumeMounts,
  },
} as const;
