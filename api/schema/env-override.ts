import { quantity } from "./primitives.ts";

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
        key: { type: "string", description: "The key." },
        name: objectName,
        optional: { type: "boolean", description: "Whether the ConfigMap or key may be missing." },
      },
    },
    fieldRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A field of the pod, for example metadata.namespace or status.podIP.",
      required: ["fieldPath"],
      properties: {
        apiVersion: {
          type: "string",
          description: "API version that fieldPath is written for; v1 by default.",
        },
        fieldPath: { type: "string", description: "Path of the field." },
      },
    },
    fileKeyRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A variable from an env file in a volume of the pod.",
      required: ["key", "path", "volumeName"],
      properties: {
        key: { type: "string", description: "Name of the variable in the file." },
        optional: {
          type: "boolean",
          default: false,
          description: "Whether the file or the variable may be missing.",
        },
        path: {
          type: "string",
          description: "Path of the file inside the volume: relative and without '..'.",
        },
        volumeName: { type: "string", description: "Name of the volume that holds the file." },
      },
    },
    resourceFieldRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A resource request or limit of a container, for example limits.memory.",
      required: ["resource"],
      properties: {
        containerName: { type: "string", description: "The container; by default this one." },
        divisor: { ...quantity, description: "Unit the value is given in; 1 by default." },
        resource: { type: "string", description: "The request or limit." },
      },
    },
    secretKeyRef: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description: "A key of a Secret.",
      required: ["key"],
      properties: {
        key: { type: "string", description: "The key." },
        name: objectName,
        optional: { type: "boolean", description: "Whether the Secret or key may be missing." },
      },
    },
  },
} as const;

/** `env` of a workload override. Spec: knative-operator.md 1.2. */
export const envOverrides = {
  type: "array",
  description: "Environment variables to set in the workload's containers.",
  items: {
    type: "object",
    required: ["container"],
    properties: {
      container: { type: "string", description: "Name of the container." },
      envVars: {
        type: "array",
        description: "Variables that are replaced, or added when the container lacks them.",
        items: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string", description: "Name of the variable." },
            value: {
              type: "string",
              description: "The value; $(NAME) stands for the value of an earlier variable.",
            },
            valueFrom,
          },
        },
      },
    },
  },
} as const;
