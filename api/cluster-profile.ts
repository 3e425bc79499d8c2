import { isRecord, listAt, recordAt } from "./fields.ts";
import type { Condition, JsonObject, KubeObject, ObjectMeta } from "./kubernetes.ts";

export const clusterProfileApiVersion = "multicluster.x-k8s.io/v1alpha1";

/** Versions that are read, in order of preference: the first one knows `credentialProviders` too. */
export const clusterProfileApiVersions = [
  clusterProfileApiVersion,
  "multicluster.x-k8s.io/v1alpha2",
] as const;

/** `cluster` of an access entry: a kubeconfig v1 cluster. Spec: cluster-inventory.md 1.2. */
export interface AccessCluster {
  readonly server?: string;
  readonly "tls-server-name"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "proxy-url"?: string;
  readonly "disable-compression"?: boolean;
  readonly extensions?: readonly { readonly name: string; readonly extension: unknown }[] | null;
}

/** One way in that a ClusterProfile offers. */
export interface AccessProvider {
  readonly name: string;
  readonly cluster?: AccessCluster | null;
}

/** ClusterProfile v1alpha1, and v1alpha2, which has a part of it; every list may be missing, null or empty alike. Spec: cluster-inventory.md 1.1. */
export type ClusterProfile = KubeObject & {
  readonly kind: "ClusterProfile";
  readonly metadata: ObjectMeta & {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly spec?: {
    readonly displayName?: string;
    readonly clusterManager?: { readonly name?: string };
  };
  readonly status?: {
    readonly conditions?: readonly Condition[] | null;
    readonly version?: { readonly kubernetes?: string };
    readonly properties?: readonly JsonObject[] | null;
    readonly accessProviders?: readonly AccessProvider[] | null;
    readonly credentialProviders?: readonly AccessProvider[] | null;
  };
};

/** An object of a reflector as a ClusterProfile; the API server has checked it against the CRD. */
export function isClusterProfile(object: KubeObject): object is ClusterProfile {
  return object.kind === "ClusterProfile" && object.metadata.namespace !== undefined;
}

/** True when the cluster manager says that the control plane of the cluster is healthy. */
export function isHealthy({ status }: ClusterProfile): boolean {
  const conditions: readonly (Condition | undefined)[] = status?.conditions ?? [];
  return conditions.some(
    // The CRD forbids null; other stores may not.
    (condition) => condition?.type === "ControlPlaneHealthy" && condition.status === "True",
  );
}

/** `status.properties` of a ClusterProfile, by name; the last of a name counts. */
export function propertiesOf(profile: KubeObject): Readonly<Record<string, string>> {
  const properties = listAt(recordAt(profile, "status"), "properties");
  return Object.fromEntries(
    properties.flatMap((property) => {
      if (!isRecord(property)) return [];
      const { name, value } = property;
      return typeof name === "string" && typeof value === "string" ? [[name, value] as const] : [];
    }),
  );
}

/** Whether a text is what a pattern with `*` and `?` stands for. Takes at most pattern times text steps, whoever wrote the two. */
export function globMatches(pattern: string, text: string): boolean {
  let [at, star, resume] = [0, -1, 0];
  for (let read = 0; read < text.length;) {
    const sign = pattern[at];
    if (sign === "*") {
      [star, resume] = [at, read];
      at += 1;
    } else if (sign === "?" || sign === text[read]) {
      at += 1;
      read += 1;
    } else if (star >= 0) {
      // The last star takes one character more.
      resume += 1;
      [at, read] = [star + 1, resume];
    } else {
      return false;
    }
  }
  return /^\**$/.test(pattern.slice(at));
}
