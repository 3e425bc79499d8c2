import { atomicStringList, stringMap } from "./primitives.ts";

/** `metav1.LabelSelector`. */
export const labelSelector = {
  type: "object",
  "x-kubernetes-map-type": "atomic",
  properties: {
    matchExpressions: {
      type: "array",
      "x-kubernetes-list-type": "atomic",
      description: "Conditions on single labels; an object is selected when all of them hold.",
      items: {
        type: "object",
        required: ["key", "operator"],
        properties: {
          key: { type: "string", description: "The label that is looked at." },
          operator: {
            type: "string",
            description: "One of In, NotIn, Exists and DoesNotExist.",
          },
          values: {
            ...atomicStringList,
            description:
              "Values for In and NotIn, at least one; must be empty for Exists and DoesNotExist.",
          },
        },
      },
    },
    matchLabels: {
      ...stringMap,
      description: "Labels and the exact values they must have; all of them must match.",
    },
  },
} as const;
