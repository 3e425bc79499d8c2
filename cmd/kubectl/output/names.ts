import type { ClusterProfileRef, ComponentKind } from "../../../api/component.ts";
import { type FleetSetKind, fleetSetKinds } from "../../../api/fleet-set.ts";
import { plainText } from "../../../api/foreign-text.ts";
import { nameId } from "../../../api/keys.ts";
import { groupOf } from "../../../api/kubernetes.ts";

type Cluster = { readonly namespace: string; readonly name: string } | null;

/**
 * Names the clusters of one table by their ClusterProfile, with its namespace only where two profiles have the same name. `<hub>` is the hub itself.
 */
export function clusterNames(clusters: readonly Cluster[]): (cluster: Cluster) => string {
  const namespaces = new Map<string, string>();
  const ambiguous = new Set<string>();
  for (const cluster of clusters) {
    if (cluster === null) continue;
    const known = namespaces.get(cluster.name) ?? cluster.namespace;
    if (known !== cluster.namespace) ambiguous.add(cluster.name);
    namespaces.set(cluster.name, known);
  }
  return (cluster) => {
    if (cluster === null) return "<hub>";
    return ambiguous.has(cluster.name) ? `${cluster.namespace}/${cluster.name}` : cluster.name;
  };
}

/** An installation or a fleet set as `-o name` writes it and every command of kubectl reads it. */
export function nameOf({
  kind,
  name,
}: {
  readonly kind: ComponentKind | FleetSetKind;
  readonly name: string;
}): string {
  const group = kind in fleetSetKinds ? "knfleet.dev" : "operator.knative.dev";
  return `${kind.toLowerCase()}.${group}/${name}`;
}

/** Short names of kinds, as arguments have them. */
export const shortKinds = {
  KnativeServing: "ks",
  KnativeEventing: "ke",
  KnativeServingSet: "kss",
  KnativeEventingSet: "kes",
} as const;

/** An installation or a fleet set as commands take it: `ks/NAME`. */
export function shortNameOf({
  kind,
  name,
}: {
  readonly kind: ComponentKind | FleetSetKind;
  readonly name: string;
}): string {
  return `${shortKinds[kind]}/${name}`;
}

/** The text by which lists are sorted: namespace, then name, then kind. */
export function nameKey({
  namespace,
  name,
  kind,
}: {
  readonly namespace?: string | null;
  readonly name: string;
  readonly kind: string | null;
}): string {
  return [namespace, name, kind].join("\u0000");
}

/** An object of a spoke in the form of `-o name`: `CLUSTER/NAMESPACE/TYPE/NAME`. `cluster`: `namespace/name` of its ClusterProfile, null for the hub. */
export function objectName(
  cluster: string | null,
  {
    namespace,
    type,
    name,
  }: { readonly namespace: string; readonly type: string; readonly name: string },
): string {
  return [cluster ?? "<hub>", namespace, type, name].filter((part) => part !== "").join("/");
}

/** An object of a cluster in the form of `-o name`, safe for a terminal. */
export function objectLine(
  cluster: ClusterProfileRef | null,
  object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string | null;
    readonly name: string;
  },
): string {
  const { apiVersion, kind, namespace, name } = object;
  const group = groupOf(apiVersion);
  const type = `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
  return plainText(
    objectName(cluster && nameId(cluster), { namespace: namespace ?? "", type, name }),
  );
}

/** A number and its reason, as in findings of `diagnose`: `KNF4009 Timeout`. */
export function codedReason({
  reason,
  code,
}: {
  readonly reason: string | null;
  readonly code: string | null;
}): string {
  return [code, reason].filter((word) => word !== null).join(" ");
}
