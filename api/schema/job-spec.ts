import { podPlacement } from "./pod-placement.ts";
import { atomicStringList, flag, int32, int64, quantity, quantityMap, text } from "./primitives.ts";

/** A field that other pods have, of which only the harmless value is taken. */
const never = (description: string) =>
  ({ type: "boolean", enum: [false], description: `${description} Only false.` }) as const;

const words = (description: string) =>
  ({ ...atomicStringList, maxItems: 64, description }) as const;

const name = {
  ...text("Its name."),
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
  maxLength: 63,
} as const;

/** What a pod and a container have in common. */
const user = {
  runAsGroup: { ...int64, minimum: 0, description: "Group that the processes run as." },
  runAsNonRoot: flag("Whether an image that runs as root is refused."),
  runAsUser: { ...int64, minimum: 0, description: "User that the processes run as." },
  seccompProfile: {
    type: "object",
    required: ["type"],
    description: "The system calls that are allowed.",
    properties: {
      type: { type: "string", enum: ["RuntimeDefault"], description: "Only RuntimeDefault." },
    },
  },
} as const;

const container = {
  type: "object",
  required: ["name", "image"],
  properties: {
    name,
    image: { ...text("Its image."), minLength: 1, maxLength: 1_024 },
    imagePullPolicy: {
      type: "string",
      enum: ["Always", "IfNotPresent", "Never"],
      description: "When the image is pulled.",
    },
    command: words("What is run, in place of the image's entrypoint."),
    args: words("Arguments, in place of those of the image."),
    workingDir: text("Folder in which it runs."),
    env: {
      type: "array",
      maxItems: 64,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      description: "Environment variables. They have a value: no Secret or ConfigMap is read.",
      items: {
        type: "object",
        required: ["name", "value"],
        properties: { name: text("Name of the variable."), value: text("Its value.") },
      },
    },
    envFrom: {
      type: "array",
      maxItems: 0,
      items: { type: "object" },
      description: "Has to be empty: no Secret or ConfigMap is read.",
    },
    resources: {
      type: "object",
      description: "What it needs.",
      properties: {
        limits: { ...quantityMap, description: "The most that it may use." },
        requests: { ...quantityMap, description: "What is kept for it." },
      },
    },
    volumeMounts: {
      type: "array",
      maxItems: 8,
      "x-kubernetes-list-type": "atomic",
      description: "Where its volumes are.",
      items: {
        type: "object",
        required: ["name", "mountPath"],
        properties: {
          name,
          mountPath: text("Path in the container."),
          readOnly: flag("Whether it can only be read."),
          subPath: text("Path in the volume that is mounted."),
        },
      },
    },
    securityContext: {
      type: "object",
      description:
        "Its security. Without capabilities, and without more rights than the process that started it, whatever stands here.",
      properties: {
        ...user,
        allowPrivilegeEscalation: never("Whether a process may get more rights."),
        capabilities: {
          type: "object",
          description: "All are dropped.",
          properties: {
            add: { ...atomicStringList, maxItems: 0, description: "Has to be empty." },
            drop: words("Those that are dropped."),
          },
        },
        privileged: never("Whether it has the rights of the node."),
        readOnlyRootFilesystem: flag("Whether its files cannot be written."),
      },
    },
  },
} as const;

const podSpec = {
  type: "object",
  required: ["containers"],
  description:
    "The pod. It has no token of a ServiceAccount, no Secret, and nothing of its node; further fields of a pod are not taken.",
  properties: {
    containers: {
      type: "array",
      minItems: 1,
      maxItems: 4,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      description: "Its containers.",
      items: container,
    },
    restartPolicy: {
      type: "string",
      enum: ["Never"],
      default: "Never",
      description: "Only Never: a failed pod stays, with its log.",
    },
    volumes: {
      type: "array",
      maxItems: 8,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      description: "Volumes that are empty at first; there are no others.",
      items: {
        type: "object",
        required: ["name", "emptyDir"],
        properties: {
          name,
          emptyDir: {
            type: "object",
            description: "A folder for the life of the pod.",
            properties: {
              medium: { type: "string", enum: ["", "Memory"], description: "Where it is." },
              sizeLimit: { ...quantity, description: "How large it may grow." },
            },
          },
        },
      },
    },
    imagePullSecrets: {
      type: "array",
      maxItems: 4,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      description: "Secrets of the namespace with which the node pulls the images.",
      items: {
        type: "object",
        required: ["name"],
        properties: { name: { ...text("Name of the Secret."), minLength: 1, maxLength: 253 } },
      },
    },
    nodeSelector: { ...podPlacement.nodeSelector, description: "Labels of the nodes." },
    tolerations: {
      ...podPlacement.tolerations,
      maxItems: 16,
      "x-kubernetes-list-type": "atomic",
      description: "Taints of nodes that it tolerates.",
    },
    securityContext: {
      type: "object",
      description: "Security of all containers.",
      properties: {
        ...user,
        fsGroup: { ...int64, minimum: 0, description: "Group that owns the volumes." },
      },
    },
    serviceAccountName: {
      type: "string",
      enum: ["default"],
      description: "Only default, and without its token.",
    },
    automountServiceAccountToken: never("Whether it gets a token."),
    hostIPC: never("Whether it shares the IPC of its node."),
    hostNetwork: never("Whether it uses the network of its node."),
    hostPID: never("Whether it sees the processes of its node."),
  },
} as const;

const inject = text("Whether the service mesh adds its sidecar.");

/** `job` of a check: what a CronJob has as `jobTemplate.spec`, as far as a check may have it. Security: T-33. */
export const jobSpec = {
  type: "object",
  required: ["template"],
  description:
    "Runs a Job in the namespace of the component, once for each revision that the cluster gets. Its exit is the answer.",
  properties: {
    activeDeadlineSeconds: {
      ...int64,
      minimum: 1,
      maximum: 3_600,
      default: 600,
      description: "Seconds after which the Job is ended, and has failed.",
    },
    backoffLimit: {
      ...int32,
      minimum: 0,
      maximum: 6,
      default: 0,
      description: "How many pods may fail before the Job has failed.",
    },
    template: {
      type: "object",
      required: ["spec"],
      description: "The pods of the Job.",
      properties: {
        metadata: {
          type: "object",
          description: "Labels and annotations of the pods; there are no others.",
          properties: {
            annotations: {
              type: "object",
              description: "Of a service mesh.",
              properties: { "linkerd.io/inject": inject, "sidecar.istio.io/inject": inject },
            },
            labels: {
              type: "object",
              description: "Of a service mesh.",
              properties: { "sidecar.istio.io/inject": inject },
            },
          },
        },
        spec: podSpec,
      },
    },
  },
} as const;
