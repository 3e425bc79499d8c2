import { createHash } from "node:crypto";

import type { CredentialSecret } from "../../access/profiles/profile-objects.ts";
import { ownManagers } from "../../api/cluster-profile.ts";
import type { AccessCluster } from "../../api/cluster-profile.ts";
import { plainLines } from "../../api/foreign-text.ts";
import type { Condition, KubeObject } from "../../api/kubernetes.ts";

/** What ClusterProfiles can be made from, or kept up to date, as `--discover` names it. */
export const producers = ["kubeconfig-secrets", "cluster-api", "registered"] as const;

export type Producer = (typeof producers)[number];

/** `spec.clusterManager.name` of the profiles that a producer writes. */
export const managers: Readonly<Record<Producer, string>> = ownManagers;

export interface DiscoverySettings {
  readonly producers: readonly Producer[];
  /** Namespace of the profiles; empty: that of the source. */
  readonly namespace: string;
  /** Namespaces of the sources; empty: all. */
  readonly sourceNamespaces: readonly string[];
  /** Label selector of the sources; empty: all. */
  readonly selector: string;
  /** Label that a Secret with a kubeconfig has with the value `true`. */
  readonly kubeconfigLabel: string;
  /** Key of the Secret that holds the kubeconfig. */
  readonly kubeconfigKey: string;
}

/** The object on the hub that a source is read from. */
export type SourceObject = Pick<KubeObject, "apiVersion" | "kind"> & {
  readonly metadata: Pick<KubeObject["metadata"], "name" | "uid" | "resourceVersion"> & {
    readonly namespace: string;
  };
};

/** How a source says that its cluster is reached. */
export type SourceAccess =
  /** `why` is the end of a sentence that begins with the kubeconfig. */
  | { readonly kind: "refused" | "missing"; readonly why: string }
  | { readonly kind: "cluster"; readonly cluster: AccessCluster }
  /** The kubeconfig is in the Secret and was not read yet. */
  | { readonly kind: "unread" };

/** The health that a source itself tells. */
export type SourceHealth = Omit<Condition, "type" | "lastTransitionTime">;

/** A cluster that an object on the hub describes. Holds no credential. */
export interface Source {
  readonly producer: Producer;
  readonly object: SourceObject;
  /** The same for one cluster of one object, also after the object was deleted and created again. */
  readonly identity: string;
  /** Name of its profile, unless another source has it. */
  readonly name: string;
  readonly createdAt: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, string>>;
  readonly secret: CredentialSecret;
  /** Context of the kubeconfig. Undefined: the current one. */
  readonly context?: string;
  readonly access: SourceAccess;
  /** Undefined: a check of the API server decides. */
  readonly health?: SourceHealth;
  /** Kubernetes version that the source tells. Undefined: the API server is asked. */
  readonly kubernetes?: string;
}

const discoveredFrom = "knfleet.dev/discovered-from";
const discoveredContext = "knfleet.dev/discovered-context";
const propertyPrefix = "knfleet.dev/property.";
// They say how the source is managed, not what its cluster is.
const ownDomains: readonly string[] = [
  "kubernetes.io",
  "helm.sh",
  "app.kubernetes.io",
  // With these, Argo CD and Flux would take the profile for one of their objects, and prune it.
  "argocd.argoproj.io",
  "kustomize.toolkit.fluxcd.io",
  "helm.toolkit.fluxcd.io",
];
// Others read them on a profile as their own word, also with something before the domain: which ManagedCluster or set a cluster is, who manages a profile.
const believedDomains: readonly string[] = [
  "open-cluster-management.io",
  "x-k8s.io",
  "knfleet.dev",
];

/** The object that Events are about. */
export function sourceObjectOf(
  { metadata }: KubeObject,
  apiVersion: string,
  kind: string,
): SourceObject {
  const { namespace = "", name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } };
}

/** The labels of a source that its profile gets: those that describe its cluster. */
export function copiedLabels(
  labels: Readonly<Record<string, string>> = {},
  leftOut: readonly string[] = [],
): Readonly<Record<string, string>> {
  const copied = Object.entries(labels).filter(([key]) => {
    const [domain = "", name] = key.split("/");
    if (name === undefined) return !leftOut.includes(key);
    const isBelieved = believedDomains.some((end) => `.${domain}`.endsWith(`.${end}`));
    return !leftOut.includes(key) && !isBelieved && !ownDomains.includes(domain);
  });
  return Object.fromEntries(copied);
}

/** `status.properties` from the annotations `knfleet.dev/property.NAME` of a source. */
export function annotatedProperties(
  annotations: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const properties = Object.entries(annotations).flatMap(([key, value]) => {
    const name = key.startsWith(propertyPrefix) ? key.slice(propertyPrefix.length) : "";
    // The CRD has a limit for values, and refuses the whole status for one that is longer.
    const text = plainLines(value.slice(0, 1_024)).toWellFormed();
    return name === "" || text === "" ? [] : [[name, text] as const];
  });
  return Object.fromEntries(properties);
}

/** Identity of a source: of an object, or of one context in it. */
export function identityOfSource(
  { kind, metadata }: SourceObject,
  context: string | undefined,
): string {
  return identityFrom([kind, metadata.namespace, metadata.name], context);
}

function identityFrom(object: readonly string[], context: string | undefined): string {
  return [...object, ...(context === undefined ? [] : [context])].join("/");
}

/** The annotations by which a profile names its source. */
export function sourceAnnotations({
  object,
  context,
}: Pick<Source, "object" | "context">): Readonly<Record<string, string>> {
  const { apiVersion, kind, metadata } = object;
  const { namespace, name, uid } = metadata;
  return {
    [discoveredFrom]: [apiVersion, kind, namespace, name, uid].join("/"),
    ...(context === undefined ? {} : { [discoveredContext]: context }),
  };
}

/** The identity of the source that a profile was made from. Undefined when the profile names none. */
export function identityInProfile({
  metadata,
}: {
  readonly metadata: Pick<KubeObject["metadata"], "annotations">;
}): string | undefined {
  const parts = metadata.annotations?.[discoveredFrom]?.split("/") ?? [];
  // Kind, namespace, name and uid. An apiVersion of one part or two comes before them.
  if (parts.length < 4) return undefined;
  return identityFrom(parts.slice(-4, -1), metadata.annotations?.[discoveredContext]);
}

/** A short hash of a text, for a name that is cut or is no name of Kubernetes. */
export function shortDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
