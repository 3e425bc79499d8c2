import { conditionOf } from "./conditions.ts";
import { isRecord, listAt, recordAt } from "./fields.ts";
import {
  type Condition,
  describe,
  type JsonObject,
  type KubeObject,
  type ObjectMeta,
} from "./kubernetes.ts";
import { profileLeaves } from "./sentences.ts";

export const clusterProfileApiVersion = "multicluster.x-k8s.io/v1alpha1";

/** Versions that we read, in order of preference. The first one also has `credentialProviders`. */
export const clusterProfileApiVersions = [
  clusterProfileApiVersion,
  "multicluster.x-k8s.io/v1alpha2",
] as const;

/** `cluster` of an access provider, with the fields of a kubeconfig's cluster. Spec: cluster-inventory.md 1.2. */
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

/** One way to log in to the cluster of a ClusterProfile. */
export interface AccessProvider {
  readonly name: string;
  readonly cluster?: AccessCluster | null;
}

/** A ClusterProfile v1alpha1 or v1alpha2; the second lacks some fields. A list may be missing, null or empty, with the same meaning. Spec: cluster-inventory.md 1.1. */
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

/** Narrows an object from an API server to a ClusterProfile. Its fields are not checked, because the API server has checked them against the CRD. */
export function isClusterProfile(object: KubeObject): object is ClusterProfile {
  return object.kind === "ClusterProfile" && object.metadata.namespace !== undefined;
}

/** `spec.clusterManager.name` of the ClusterProfiles whose health knfleet itself keeps, by their source. */
export const ownManagers = {
  "kubeconfig-secrets": "knfleet-kubeconfig",
  "cluster-api": "knfleet-cluster-api",
  /** The profiles of `kubectl knfleet register`. Discovery writes only their health and version. */
  registered: "knfleet-register",
} as const;

/** Annotation of a ClusterProfile: when the credential of its cluster was renewed. Another value makes the controller connect anew at once. */
export const renewedAnnotation = "knfleet.dev/credential-renewed-at";

/** Whether knfleet itself keeps the health of a ClusterProfile. */
export function isKeptByUs({ spec }: ClusterProfile): boolean {
  const manager = spec?.clusterManager?.name ?? "";
  return Object.values<string>(ownManagers).includes(manager);
}

/** Types of the conditions that decide whether a ClusterProfile is ready: the first one that it has. */
export const healthConditions: readonly string[] = ["ControlPlaneHealthy", "Joined"];

/**
 * True when the cluster manager has set the condition ControlPlaneHealthy to True. A manager that never writes it, as GKE's fleet, says only that the cluster
 * has joined: then the cluster itself shows whether it is healthy, when it is asked.
 */
export function isHealthy({ status }: ClusterProfile): boolean {
  const [healthy, joined] = healthConditions.map((type) => conditionOf(status?.conditions, type));
  return (healthy ?? joined)?.status === "True";
}

/** Why a ClusterProfile with a finalizer is not ready: it is being deleted. Undefined for a profile that is not being deleted. */
export function leavingMessage({ metadata }: ClusterProfile): string | undefined {
  const { namespace, name, deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined) return undefined;
  return profileLeaves.of(describe({ kind: "ClusterProfile", namespace, name }), deletionTimestamp);
}

/** `status.properties` of a ClusterProfile, by name. The last property with a name counts. */
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

/** True when a text matches a pattern with `*` and `?`. Takes at most pattern length times text length steps, also for hostile input. */
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
      // Backtracks: the last star matches one character more.
      resume += 1;
      [at, read] = [star + 1, resume];
    } else {
      return false;
    }
  }
  return /^\**$/.test(pattern.slice(at));
}
