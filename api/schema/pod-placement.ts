import { atomicStringList, int32, int64, labelSelector, stringMap, text } from "./primitives.ts";

const nodeRequirements = {
  type: "array",
  "x-kubernetes-list-type": "atomic",
  items: {
    type: "object",
    required: ["key", "operator"],
    properties: {
      key: text("The node label or field that is looked at."),
      operator: text("One of In, NotIn, Exists, DoesNotExist, Gt and Lt."),
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
const nodeAffinity = {
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
    topologyKey: text(
      "Node label that says what counts as the same place, for example kubernetes.io/hostname. Must not be empty.",
    ),
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
const podAffinity = {
  type: "object",
  description: "Near which other pods the pods must or should run.",
  properties: terms,
} as const;

/** `corev1.PodAntiAffinity`. */
const podAntiAffinity = {
  type: "object",
  description: "Away from which other pods the pods must or should run.",
  properties: terms,
} as const;

const toleration = {
  type: "object",
  properties: {
    effect: text(
      "Taint effect that is tolerated: NoSchedule, PreferNoSchedule or NoExecute. Empty: every effect.",
    ),
    key: text("Taint key that is tolerated. Empty: every key, and then operator must be Exists."),
    operator: text(
      "How value is compared with the taint's: Equal (default), Exists (value must be empty), or Lt and Gt where the cluster offers them.",
    ),
    tolerationSeconds: {
      ...int64,
      description:
        "For NoExecute: how many seconds the pods may stay after the taint appears. Absent: for ever; zero or less: not at all.",
    },
    value: text("Taint value that is tolerated."),
  },
} as const;

const topologySpreadConstraint = {
  type: "object",
  required: ["maxSkew", "topologyKey", "whenUnsatisfiable"],
  properties: {
    labelSelector: {
      ...labelSelector,
      description: "Which pods are counted to find how evenly they are spread.",
    },
    matchLabelKeys: {
      ...atomicStringList,
      description:
        "Labels of the incoming pod whose values are added to labelSelector before counting. Needs labelSelector.",
    },
    maxSkew: {
      ...int32,
      description:
        "Greatest allowed difference in the number of matching pods between two places; at least 1.",
    },
    minDomains: {
      ...int32,
      description:
        "Least number of places; with fewer, the least-filled place counts as empty. Only with whenUnsatisfiable DoNotSchedule.",
    },
    nodeAffinityPolicy: text(
      "Honor (default) counts only nodes that the pod's node selector and affinity allow; Ignore counts all nodes.",
    ),
    nodeTaintsPolicy: text(
      "Honor counts only nodes whose taints the pod tolerates; Ignore (default) counts all nodes.",
    ),
    topologyKey: text("Node label whose values are the places that pods are spread over."),
    whenUnsatisfiable: text(
      "What happens to a pod that cannot be placed evenly: DoNotSchedule leaves it pending, ScheduleAnyway places it where it fits best.",
    ),
  },
} as const;

/** Fields of a workload override that decide where its pods run. Spec: knative-operator.md 1.2. */
export const podPlacement = {
  affinity: {
    type: "object",
    description: "Replaces the affinity of the workload's pods.",
    properties: { nodeAffinity, podAffinity, podAntiAffinity },
  },
  nodeSelector: {
    ...stringMap,
    description: "Replaces the node selector of the workload's pods when it is not empty.",
  },
  tolerations: {
    type: "array",
    description: "Replaces the tolerations of the workload's pods when it is not empty.",
    items: toleration,
  },
  topologySpreadConstraints: {
    type: "array",
    description:
      "Replaces the topology spread constraints of the workload's pods when it is not empty.",
    items: topologySpreadConstraint,
  },
} as const;
