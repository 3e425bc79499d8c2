const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

/** Everything at the edge of what clusters take, in one spec. */
export const edgeSpec = {
  version: "1.23",
  ingress: {
    kourier: { enabled: true, "service-type": "NodePort", "http-port": 30_180, "https-port": 0 },
  },
  "high-availability": { replicas: 0 },
  podDisruptionBudgets: [{ name: "activator-pdb", maxUnavailable: "100%" }],
  "controller-custom-certs": { type: "Secret", name: "a".repeat(50) },
  registry: { imagePullSecrets: [{ name: "a" }, { name: "b.c" }] },
  workloads: [
    {
      name: "controller",
      hostNetwork: true,
      tolerations: [
        { operator: "Exists" },
        { key: "example.com/a", value: "", effect: "NoExecute", tolerationSeconds: -1 },
        { key: "a", operator: "Equal", value: "b", effect: "" },
      ],
      affinity: {
        nodeAffinity: {
          [required]: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "a", operator: "Gt", values: ["b"] }] },
              { matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["a"] }] },
            ],
          },
          [preferred]: [{ weight: 100, preference: {} }],
        },
        podAntiAffinity: {
          [required]: [
            { topologyKey: "zone", labelSelector: {}, matchLabelKeys: ["a/b"], namespaces: ["a"] },
          ],
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", minDomains: 1 },
        { maxSkew: 9, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" },
      ],
      resources: [
        {
          container: "controller",
          requests: { cpu: "500m", memory: "1m", "example.com/gpu": 2 },
          limits: { "example.com/gpu": "2" },
        },
      ],
      readinessProbes: [{ container: "controller", periodSeconds: 0, successThreshold: 5 }],
      livenessProbes: [
        { container: "controller", successThreshold: 1, terminationGracePeriodSeconds: 1 },
      ],
      env: [
        {
          container: "controller",
          envVars: [
            { name: "a b", value: "" },
            { name: "B", value: "", valueFrom: { fieldRef: { fieldPath: "status.podIPs" } } },
            { name: "C", valueFrom: { fieldRef: { fieldPath: "metadata.labels['a.b/c']" } } },
            {
              name: "D",
              valueFrom: { resourceFieldRef: { resource: "requests.memory", divisor: "1Mi" } },
            },
            { name: "E", valueFrom: { secretKeyRef: { name: "a", key: ".b", optional: true } } },
          ],
        },
      ],
    },
  ],
} as const;
