import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import type { KubeObject, ObjectMeta } from "../../../api/kubernetes.ts";
import type { DiscoverySettings } from "../../../controller/discovery/source.ts";
import { anyCaData } from "../../access/builders.ts";

/** The settings of a controller with both producers. */
export const settings: DiscoverySettings = {
  producers: ["kubeconfig-secrets", "cluster-api", "registered"],
  namespace: "fleet",
  sourceNamespaces: [],
  selector: "",
  kubeconfigLabel: "sigs.k8s.io/multicluster-runtime-kubeconfig",
  kubeconfigKey: "kubeconfig",
};

/** The cluster of every kubeconfig here. */
export const cluster = {
  server: "https://api.example.com:6443",
  "certificate-authority-data": anyCaData,
};

interface SecretParts {
  readonly metadata?: Partial<ObjectMeta>;
  readonly kubeconfig?: object;
  readonly contexts?: readonly string[];
  readonly user?: object;
  readonly type?: string;
}

/** A Secret with a kubeconfig, labelled for discovery. */
export function secretOf(name: string, parts: SecretParts = {}): KubeObject {
  const {
    metadata = {},
    contexts = ["main"],
    user = { token: "a-secret-token" },
    type = "Opaque",
  } = parts;
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": contexts[0],
    contexts: contexts.map((context) => ({ name: context, context: { cluster: "c", user: "u" } })),
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
    ...parts.kubeconfig,
  };
  const data = { kubeconfig: Buffer.from(JSON.stringify(kubeconfig)).toString("base64") };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace: "team-a",
      name,
      uid: `uid-${name}`,
      resourceVersion: "1",
      creationTimestamp: "2026-11-01T00:00:00Z",
      labels: { [settings.kubeconfigLabel]: "true" },
      ...metadata,
    },
    type,
    data,
  };
}

/** A Cluster of Cluster API. */
export function clusterOf(
  name: string,
  fields: Readonly<Record<string, unknown>> = {},
  metadata: Partial<ObjectMeta> = {},
): KubeObject {
  return {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: {
      namespace: "team-a",
      name,
      uid: `uid-${name}`,
      resourceVersion: "1",
      creationTimestamp: "2026-11-01T00:00:00Z",
      ...metadata,
    },
    ...fields,
  };
}

/** A ClusterProfile on the hub. `from`: the source that it names. */
export function profileOn(
  key: string,
  parts: {
    readonly manager?: string;
    readonly from?: string;
    readonly status?: ClusterProfile["status"];
  } = {},
): ClusterProfile {
  const [namespace = "", name = ""] = key.split("/");
  const { manager = "knfleet-kubeconfig", from, status } = parts;
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace,
      name,
      uid: `uid-${key}`,
      resourceVersion: "1",
      annotations: from === undefined ? {} : { "knfleet.dev/discovered-from": from },
    },
    spec: { displayName: name, clusterManager: { name: manager } },
    ...(status === undefined ? {} : { status }),
  };
}
