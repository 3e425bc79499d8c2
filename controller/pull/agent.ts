import { agentWorkName } from "../../api/delivery.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { type Rule, spokeRules } from "../../installation/spoke-role.ts";

/** Namespace of the controller on a spoke. */
export const agentNamespace = "knfleet-system";

/** Labels of that namespace. With this one, the klusterlet operator of Open Cluster Management copies its pull secret into it, as for addons. */
export const agentNamespaceLabels = { "addon.open-cluster-management.io/namespace": "true" };
const pullSecret = "open-cluster-management-image-pull-credentials";

// The same name for all objects of the agent.
const name = agentWorkName;
const namespace = agentNamespace;
const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "knfleet" };
const account = { kind: "ServiceAccount", name, namespace };
const rbac = "rbac.authorization.k8s.io";
const operatorGroup = ["operator.knative.dev"];

/** What docs/hub-role.yaml grants, for a controller that serves only the cluster that it runs on. */
const componentRules: readonly Rule[] = [
  {
    apiGroups: operatorGroup,
    resources: ["knativeservings", "knativeeventings"],
    verbs: ["get", "list", "watch", "patch"],
  },
  {
    apiGroups: operatorGroup,
    resources: ["knativeservings/status", "knativeeventings/status"],
    verbs: ["update"],
  },
  {
    apiGroups: operatorGroup,
    resources: ["knativeservings/finalizers", "knativeeventings/finalizers"],
    verbs: ["update"],
  },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "get", "patch"] },
];

const leaseRules: readonly Rule[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["create", "get", "list", "watch", "update"],
  },
];

/** What the agent of Open Cluster Management needs to bring a component, which its own roles lack. */
const workRules: readonly Rule[] = [
  {
    apiGroups: operatorGroup,
    resources: ["knativeservings", "knativeeventings"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
];

/** The objects of the controller on a spoke, in the order in which they are applied. Equal input gives equal objects, and no object is for one spoke only. */
export function agentManifests(image: string): readonly Manifest[] {
  return [
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace, labels },
    },
    role("ClusterRole", name, [...spokeRules, ...componentRules]),
    binding("ClusterRole"),
    role("Role", name, leaseRules),
    binding("Role"),
    aggregated(role("ClusterRole", `${name}-work`, workRules)),
    deployment(image),
  ];
}

function role(kind: "Role" | "ClusterRole", roleName: string, rules: readonly Rule[]): Manifest {
  return {
    apiVersion: `${rbac}/v1`,
    kind,
    metadata: { name: roleName, ...(kind === "Role" ? { namespace } : {}), labels },
    rules,
  };
}

/** Adds the label by which the agent of Open Cluster Management gets the rules of a ClusterRole. */
function aggregated(clusterRole: Manifest): Manifest {
  const { metadata } = clusterRole;
  const label = { "open-cluster-management.io/aggregate-to-work": "true" };
  return { ...clusterRole, metadata: { ...metadata, labels: { ...metadata.labels, ...label } } };
}

function binding(kind: "Role" | "ClusterRole"): Manifest {
  return {
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata: { name, ...(kind === "Role" ? { namespace } : {}), labels },
    roleRef: { apiGroup: rbac, kind, name },
    subjects: [account],
  };
}

const selector = { "app.kubernetes.io/name": name };

/** Starts the controller as the chart does, with what it needs beside the defaults of its flags. */
function deployment(image: string): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: 1,
      revisionHistoryLimit: 1,
      selector: { matchLabels: selector },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          // A secret that does not exist is left out by the kubelet.
          imagePullSecrets: [{ name: pullSecret }],
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            runAsGroup: 65_532,
            fsGroup: 65_532,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [container(image)],
          volumes: [{ name: "tmp", emptyDir: { sizeLimit: "64Mi" } }],
        },
      },
    },
  };
}

function probe(path: string): object {
  return { httpGet: { path, port: "health" } };
}

function container(image: string): object {
  return {
    name: "controller",
    image,
    command: [
      "/usr/local/bin/node",
      "--max-semi-space-size=2",
      "--heap-growing-percent=20",
      "--no-sparkplug",
      "--disable-sigusr1",
      "--disable-proto=delete",
      "/app/knfleet-controller.js",
    ],
    args: ["--install-crds"],
    env: [{ name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } }],
    ports: [{ name: "health", containerPort: 8_080 }],
    startupProbe: { ...probe("/healthz"), periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: {
      ...probe("/healthz"),
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
    },
    readinessProbe: { ...probe("/readyz"), periodSeconds: 5, timeoutSeconds: 3 },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
    },
    resources: { requests: { cpu: "50m", memory: "160Mi" }, limits: { memory: "512Mi" } },
    volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
  };
}
