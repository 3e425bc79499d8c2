import { labelSelector } from "./label-selector.ts";
import { atomicStringList, int32 } from "./primitives.ts";

const podAffinityTerm = {
  type: "object",
  required: ["topologyKey"],
  properties: {
    labelSelector: {
      ...labelSelector,
      description: "Which other pods the term is about. Absent: no pods.",
    },
    matchLabelKeys: {
      ...atomicStringList,
      description:
        "Labels of the incoming pod whose values are added to labelSelector, so that only pods with equal values count.",
    },
    mismatchLabelKeys: {
      ...atomicStringList,
      description:
        "Labels of the incoming pod whose values are excluded through labelSelector, so that only pods with other values count.",
    },
    namespaceSelector: {
      ...labelSelector,
      description:
        "Which namespaces the other pods are in, by label, added to namespaces. Empty object: all namespaces.",
    },
    namespaces: {
      ...atomicStringList,
      description:
        "Names of the namespaces the other pods are in. Absent together with namespaceSelector: the pod's own namespace.",
    },
    topologyKey: {
      type: "string",
      description:
        "Node label that says what counts as the same place, for example kubernetes.io/hostname. Must not be empty.",
    },
  },
} as const;

const terms = {
  preferredDuringSchedulingIgnoredDuringExecution: {
    type: "array",
    "x-kubernetes-list-type": "atomic",
    description:
      "Places that are preferred. The scheduler adds up the weights of the terms that hold for a node and favours the highest sum.",
    items: {
      type: "object",
      required: ["podAffinityTerm", "weight"],
      properties: {
        podAffinityTerm: { ...podAffinityTerm, description: "The term the weight is given to." },
        weight: { ...int32, description: "Weight of this term, 1 to 100." },
      },
    },
  },
  requiredDuringSchedulingIgnoredDuringExecution: {
    type: "array",
    "x-kubernetes-list-type": "atomic",
    description:
      "Conditions that a place must fulfil, all of them. Pods that run already are not moved when a condition stops holding.",
    items: podAffinityTerm,
  },
} as const;

/** `corev1.PodAffinity`. */
export const podAffinity = {
  type: "object",
  description: "Near which other pods the pods must or should run.",
  properties: terms,
} as const;

/** `corev1.PodAntiAffinity`. */
export const podAntiAffinity = {
  type: "object",
  description: "Away from which other pods the pods must or should run.",
  properties: terms,
} as const;
