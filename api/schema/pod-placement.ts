import { labelSelector } from "./label-selector.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { podAffinity, podAntiAffinity } from "./pod-affinity.ts";
import { atomicStringList, int32, int64, stringMap } from "./primitives.ts";

const toleration = {
  type: "object",
  properties: {
    effect: {
      type: "string",
      description:
        "Taint effect that is tolerated: NoSchedule, PreferNoSchedule or NoExecute. Empty: every effect.",
    },
    key: {
      type: "string",
      description:
        "Taint key that is tolerated. Empty: every key, and then operator must be Exists.",
    },
    operator: {
      type: "string",
      description:
        "How value is compared with the taint's: Equal (default), Exists (value must be empty), or Lt and Gt where the cluster offers them.",
    },
    tolerationSeconds: {
      ...int64,
      description:
        "For NoExecute: how many seconds the pods may stay after the taint appears. Absent: for ever; zero or less: not at all.",
    },
    value: { type: "string", description: "Taint value that is tolerated." },
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
    nodeAffinityPolicy: {
      type: "string",
      description:
        "Honor (default) counts only nodes that the pod's node selector and affinity allow; Ignore counts all nodes.",
    },
    nodeTaintsPolicy: {
      type: "string",
      description:
        "Honor counts only nodes whose taints the pod tolerates; Ignore (default) counts all nodes.",
    },
    topologyKey: {
      type: "string",
      description: "Node label whose values are the places that pods are spread over.",
    },
    whenUnsatisfiable: {
      type: "string",
      description:
        "What happens to a pod that cannot be placed evenly: DoNotSchedule leaves it pending, ScheduleAnyway places it where it fits best.",
    },
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
