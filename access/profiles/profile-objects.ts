import type { AccessCluster, AccessProvider, ClusterProfile } from "../../api/cluster-profile.ts";
import { withCondition } from "../../api/conditions.ts";
import type { Condition, Manifest, NamespacedName } from "../../api/kubernetes.ts";
import type { SecretReader } from "../plugins/built-in-plugins.ts";

/** The label with which the Cluster Inventory API names the manager of a ClusterProfile. */
const managerLabel = "x-k8s.io/cluster-manager";

/** What a producer of ClusterProfiles writes into the status of one. */
export interface ProfileStatusSource extends NamespacedName {
  /** API version of ClusterProfile that the hub serves. */
  readonly apiVersion: string;
  /** Undefined: the way to the cluster is not known. */
  readonly access: AccessProvider | undefined;
  /** Conditions without their times. */
  readonly conditions: readonly Omit<Condition, "lastTransitionTime">[];
  /** Kubernetes version, as the cluster writes it. Undefined: unknown. */
  readonly kubernetes: string | undefined;
  readonly properties?: Readonly<Record<string, string>>;
}

/** What a producer of ClusterProfiles knows of one cluster. */
export interface ProfileSource extends ProfileStatusSource {
  /** `spec.clusterManager.name`. The CRD forbids to change it. */
  readonly manager: string;
  readonly displayName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The ClusterProfile of a cluster, without its status. */
export function profileManifest(source: ProfileSource): Manifest {
  const { apiVersion, namespace, name, manager, displayName, labels, annotations } = source;
  return {
    apiVersion,
    kind: "ClusterProfile",
    metadata: { namespace, name, labels: { ...labels, [managerLabel]: manager }, annotations },
    spec: { displayName, clusterManager: { name: manager } },
  };
}

/** What to apply to the status of that ClusterProfile. A condition that is as before keeps its time. */
export function profileStatusManifest(
  source: ProfileStatusSource,
  present: ClusterProfile | undefined,
  now: Date,
): Manifest {
  const { apiVersion, namespace, name, kubernetes, access, properties = {} } = source;
  const named = Object.entries(properties).map(([property, value]) => ({ name: property, value }));
  const types = source.conditions.map(({ type }) => type);
  const before = (present?.status?.conditions ?? []).filter(({ type }) => types.includes(type));
  return {
    apiVersion,
    kind: "ClusterProfile",
    metadata: { namespace, name },
    status: {
      ...(kubernetes === undefined ? {} : { version: { kubernetes } }),
      conditions: source.conditions.reduce<readonly Condition[]>(
        (list, condition) => withCondition(list, condition, now),
        before,
      ),
      ...(named.length === 0 ? {} : { properties: named }),
      ...(access === undefined ? {} : { accessProviders: [access] }),
    },
  };
}

/** A Secret of the hub that holds the credential of a cluster. */
export interface CredentialSecret extends NamespacedName {
  /** Key of its data. */
  readonly key: string;
}

/** The key under which a reader of `register` finds the credential. */
export const credentialKeys: Readonly<Record<SecretReader, string>> = {
  secretreader: "token",
  "kubeconfig-secretreader": "value",
};

/** How a provider gives access to a cluster whose credential is in a Secret of the hub. Spec: cluster-inventory.md 4. */
export function accessEntry({
  provider,
  reader,
  secret,
  cluster,
  context,
}: {
  readonly provider: string;
  readonly reader: SecretReader;
  readonly secret: CredentialSecret;
  readonly cluster: AccessCluster;
  /** Context of the kubeconfig in the Secret; default: the current one. */
  readonly context?: string;
}): AccessProvider {
  const { namespace, name, key } = secret;
  const extension =
    reader === "secretreader"
      ? { clusterName: name }
      : { namespace, name, key, ...(context === undefined ? {} : { context }) };
  return {
    name: provider,
    cluster: {
      ...cluster,
      extensions: [{ name: "client.authentication.k8s.io/exec", extension }],
    },
  };
}

/** The address of a cluster as its kubeconfig entry says it. `caPem`: the content of its authority, also when the entry names a file. */
export function accessClusterOf(
  entry: Readonly<Record<string, unknown>>,
  caPem: string | undefined,
): AccessCluster & { readonly server: string } {
  const text = (field: string): string => {
    const value = entry[field];
    return typeof value === "string" ? value : "";
  };
  const optional = (field: "tls-server-name" | "proxy-url"): AccessCluster =>
    text(field) === "" ? {} : { [field]: text(field) };
  return {
    server: text("server"),
    ...(caPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64") }),
    ...(entry["insecure-skip-tls-verify"] === true ? { "insecure-skip-tls-verify": true } : {}),
    ...optional("tls-server-name"),
    ...optional("proxy-url"),
  };
}
