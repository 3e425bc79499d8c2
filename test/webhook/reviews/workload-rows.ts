const workload = (fields: object) => ({ workloads: [{ name: "controller", ...fields }] });
const tolerations = (...list: readonly object[]) => workload({ tolerations: list });
const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const affinity = (fields: object) => workload({ affinity: fields });
const nodes = (term: object) =>
  affinity({ nodeAffinity: { [required]: { nodeSelectorTerms: [term] } } });
const node = (expression: object) => nodes({ matchExpressions: [expression] });
const pods = (term: object) =>
  affinity({ podAntiAffinity: { [required]: [{ topologyKey: "zone", ...term }] } });
const spread = (fields: object) =>
  workload({
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", ...fields },
    ],
  });
const resources = (fields: object) =>
  workload({ resources: [{ container: "controller", ...fields }] });
const probe = (kind: "readiness" | "liveness", fields: object) =>
  workload({ [`${kind}Probes`]: [{ container: "controller", ...fields }] });
const from = (valueFrom: object) =>
  workload({ env: [{ container: "controller", envVars: [{ name: "A", valueFrom }] }] });
/** Kourier with these options. */
export const kourier = (fields: object) => ({ ingress: { kourier: { enabled: true, ...fields } } });

/** A spec, and the path and the beginning of the message of what is wrong with it. */
export type RefusedRow = readonly [spec: object, path: string, message: string];

/** Below `spec.workloads[0]`. */
export const placementRows: readonly RefusedRow[] = [
  [tolerations({ key: "a b", operator: "Exists" }), "tolerations[0].key", "the name of the key"],
  [tolerations({ key: "a", operator: "Is" }), "tolerations[0].operator", "must be one of Equal"],
  [tolerations({ value: "a" }), "tolerations[0].operator", "must be Exists where there is no key"],
  [
    tolerations({ key: "a", operator: "Exists", value: "b" }),
    "tolerations[0].value",
    "must be empty",
  ],
  [tolerations({ key: "a", value: "b c" }), "tolerations[0].value", "the value must be at most 63"],
  [
    tolerations({ key: "a", operator: "Gt", value: "b" }),
    "tolerations[0].value",
    "must be a whole number",
  ],
  [
    tolerations({ operator: "Exists", effect: "Never" }),
    "tolerations[0].effect",
    "must be one of NoSchedule",
  ],
  [
    tolerations({ operator: "Exists" }, { operator: "Exists", tolerationSeconds: 3 }),
    "tolerations[1].tolerationSeconds",
    "needs the effect NoExecute",
  ],
  [
    node({ key: "a", operator: "Like" }),
    `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].operator`,
    "must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt",
  ],
  [
    node({ key: "a", operator: "In" }),
    `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].values`,
    "must not be empty",
  ],
  [
    node({ key: "a", operator: "Exists", values: ["b"] }),
    `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].values`,
    "must be empty",
  ],
  [
    node({ key: "a", operator: "Lt", values: ["1", "2"] }),
    `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].values`,
    "must hold one value",
  ],
  [
    node({ key: "a", operator: "In", values: ["b", "c d"] }),
    `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].values[1]`,
    "the value must be at most 63",
  ],
  [
    nodes({ matchFields: [{ key: "spec.taints", operator: "In", values: ["a"] }] }),
    `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchFields[0].key`,
    "must be metadata.name",
  ],
  [
    affinity({ nodeAffinity: { [required]: { nodeSelectorTerms: [] } } }),
    `affinity.nodeAffinity.${required}.nodeSelectorTerms`,
    "must hold a term",
  ],
  [
    affinity({ nodeAffinity: { [preferred]: [{ weight: 0, preference: {} }] } }),
    `affinity.nodeAffinity.${preferred}[0].weight`,
    "must be from 1 to 100",
  ],
  [
    affinity({
      podAffinity: { [preferred]: [{ weight: 101, podAffinityTerm: { topologyKey: "a" } }] },
    }),
    `affinity.podAffinity.${preferred}[0].weight`,
    "must be from 1 to 100",
  ],
  [
    pods({ topologyKey: "" }),
    `affinity.podAntiAffinity.${required}[0].topologyKey`,
    "the name of the key",
  ],
  [
    pods({ namespaces: ["a", "B"] }),
    `affinity.podAntiAffinity.${required}[0].namespaces[1]`,
    "must be the name of a Namespace",
  ],
  [
    pods({ labelSelector: { matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] } }),
    `affinity.podAntiAffinity.${required}[0].labelSelector.matchExpressions[0].operator`,
    "must be one of In, NotIn, Exists, DoesNotExist (",
  ],
  [
    pods({ namespaceSelector: { matchLabels: { "a b": "c" } } }),
    `affinity.podAntiAffinity.${required}[0].namespaceSelector.matchLabels["a b"]`,
    "the name of the key",
  ],
  [
    pods({ matchLabelKeys: ["a"] }),
    `affinity.podAntiAffinity.${required}[0].matchLabelKeys`,
    "needs a labelSelector",
  ],
  [spread({ maxSkew: 0 }), "topologySpreadConstraints[0].maxSkew", "must be at least 1"],
  [
    spread({ whenUnsatisfiable: "Wait" }),
    "topologySpreadConstraints[0].whenUnsatisfiable",
    "must be one of DoNotSchedule",
  ],
  [
    spread({ minDomains: 2, whenUnsatisfiable: "ScheduleAnyway" }),
    "topologySpreadConstraints[0].minDomains",
    "needs whenUnsatisfiable DoNotSchedule",
  ],
  [
    spread({ nodeTaintsPolicy: "Maybe" }),
    "topologySpreadConstraints[0].nodeTaintsPolicy",
    "must be one of Honor, Ignore",
  ],
  [
    spread({ matchLabelKeys: ["a b"], labelSelector: {} }),
    "topologySpreadConstraints[0].matchLabelKeys[0]",
    "the name of the key",
  ],
];

/** Below `spec.workloads[0]`. */
export const containerRows: readonly RefusedRow[] = [
  [
    resources({ requests: { cpuu: "1" } }),
    "resources[0].requests.cpuu",
    "the resource must be cpu, memory",
  ],
  [resources({ limits: { memory: "-1Gi" } }), "resources[0].limits.memory", "must not be negative"],
  [
    resources({ limits: { "example.com/gpu": "1500m" } }),
    'resources[0].limits["example.com/gpu"]',
    "must be a whole number",
  ],
  [
    probe("readiness", { periodSeconds: -1 }),
    "readinessProbes[0].periodSeconds",
    "must not be negative",
  ],
  [
    probe("readiness", { terminationGracePeriodSeconds: 3 }),
    "readinessProbes[0].terminationGracePeriodSeconds",
    "is for liveness probes only",
  ],
  [
    probe("liveness", { successThreshold: 2 }),
    "livenessProbes[0].successThreshold",
    "must be 1 for a liveness probe",
  ],
  [
    probe("liveness", { terminationGracePeriodSeconds: 0 }),
    "livenessProbes[0].terminationGracePeriodSeconds",
    "must be at least 1",
  ],
  [from({}), "env[0].envVars[0].valueFrom", "needs a source"],
  [
    from({ fieldRef: { fieldPath: "spec.nodeSelector" } }),
    "env[0].envVars[0].valueFrom.fieldRef.fieldPath",
    "must be one of metadata.name",
  ],
  [
    from({ fieldRef: { fieldPath: "metadata.labels['a b']" } }),
    "env[0].envVars[0].valueFrom.fieldRef.fieldPath",
    "the name of the key",
  ],
  [
    from({ resourceFieldRef: { resource: "limits.gpu" } }),
    "env[0].envVars[0].valueFrom.resourceFieldRef.resource",
    "must be limits. or requests.",
  ],
  [
    from({ resourceFieldRef: { resource: "limits.cpu", divisor: "3" } }),
    "env[0].envVars[0].valueFrom.resourceFieldRef.divisor",
    "must be one of 1m, 1",
  ],
  [
    from({ secretKeyRef: { key: "a" } }),
    "env[0].envVars[0].valueFrom.secretKeyRef.name",
    "must be the name of a Secret",
  ],
  [
    from({ configMapKeyRef: { name: "a", key: "b/c" } }),
    "env[0].envVars[0].valueFrom.configMapKeyRef.key",
    "must be a key",
  ],
  [
    from({ fileKeyRef: { key: "a", path: "../b", volumeName: "c" } }),
    "env[0].envVars[0].valueFrom.fileKeyRef.path",
    "must be a path below the volume",
  ],
  [workload({ replicas: 2_147_483_647 }), "replicas", "must be at most 1000000"],
];

/** Below `spec`. */
export const otherRows: readonly RefusedRow[] = [
  [
    { "high-availability": { replicas: 2_147_483_647 } },
    "high-availability.replicas",
    "must be at most 1000000",
  ],
  [
    workload({
      topologySpreadConstraints: [1, 2].map((maxSkew) => ({
        maxSkew,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule",
      })),
    }),
    "workloads[0].topologySpreadConstraints[1]",
    "the same topologyKey and whenUnsatisfiable stand further up",
  ],
  [
    { podDisruptionBudgets: [{ name: "activator-pdb", minAvailable: "101%" }] },
    "podDisruptionBudgets[0].minAvailable",
    "must be a whole number that is not negative, or a percentage such as 80% up to 100%",
  ],
  [
    kourier({ "service-type": "NodePort", "http-port": 30_080, "https-port": 30_080 }),
    "ingress.kourier.https-port",
    "must be another port than http-port",
  ],
  [
    kourier({ "bootstrap-configmap": "No Name" }),
    "ingress.kourier.bootstrap-configmap",
    "must be the name of a ConfigMap",
  ],
  [
    { "controller-custom-certs": { type: "Secret", name: "a".repeat(51) } },
    "controller-custom-certs.name",
    "must be the name of a ConfigMap or Secret, at most 50 characters",
  ],
  [
    { registry: { imagePullSecrets: [{ name: "a" }, { name: "b" }, { name: "a" }] } },
    "registry.imagePullSecrets[2].name",
    "stands further up already",
  ],
  [
    { namespace: { labels: { "pod-security.kubernetes.io/enforce-version": "v2" } } },
    'namespace.labels["pod-security.kubernetes.io/enforce-version"]',
    "must be latest or a version such as v1.36",
  ],
];
