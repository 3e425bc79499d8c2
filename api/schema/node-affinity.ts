import { atomicStringList, int32 } from "./primitives.ts";

const nodeRequirements = {
  type: "array",
  "x-kubernetes-list-type": "atomic",
  items: {
    type: "object",
    required: ["key", "operator"],
    properties: {
      key: { type: "string", description: "The node label or field that is looked at." },
      operator: {
        type: "string",
        description: "One of In, NotIn, Exists, DoesNotExist, Gt and Lt.",
      },
      values: {
        ...atomicStringList,
        description:
          "Values for the operator: at least one for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt.",
      },
    },
  },
} as const;

const nodeSelectorTerm = {
  type: "object",
  "x-kubernetes-map-type": "atomic",
  properties: {
    matchExpressions: {
      ...nodeRequirements,
      description: "Conditions on node labels; all of them must hold.",
    },
    matchFields: {
      ...nodeRequirements,
      description: "Conditions on node fields, for example metadata.name; all of them must hold.",
    },
  },
} as const;

/** `corev1.NodeAffinity`. */
export const nodeAffinity = {
  type: "object",
  description: "On which nodes the pods may run, by node labels and fields.",
  properties: {
    preferredDuringSchedulingIgnoredDuringExecution: {
      type: "array",
      "x-kubernetes-list-type": "atomic",
      description:
        "Nodes that are preferred. The scheduler adds up the weights of the terms that a node matches and favours the highest sum.",
      items: {
        type: "object",
        required: ["preference", "weight"],
        properties: {
          preference: { ...nodeSelectorTerm, description: "Which nodes the weight is given to." },
          weight: { ...int32, description: "Weight of this term, 1 to 100." },
        },
      },
    },
    requiredDuringSchedulingIgnoredDuringExecution: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      description:
        "Nodes that are allowed at all. Pods that run already are not moved when a node stops matching.",
      required: ["nodeSelectorTerms"],
      properties: {
        nodeSelectorTerms: {
          type: "array",
          "x-kubernetes-list-type": "atomic",
          description: "A node is allowed when it matches at least one of these terms.",
          items: nodeSelectorTerm,
        },
      },
    },
  },
} as const;
