import { ServedProfiles } from "../../../access/kube/profile-versions.ts";
import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import type { Component, ClusterProfileRef } from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { itemsAt } from "../selection/fields.ts";
import { globMatches } from "../selection/glob.ts";
import { labelMatcher } from "../selection/label-selector.ts";
import type { Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "./cluster-access.ts";

/** The components whose cluster is one that `--cluster` and `--on` select. Asks the hub for ClusterProfiles only with `--on`. */
export async function onSelectedClusters(
  components: readonly Component[],
  {
    access,
    selection,
  }: { readonly access: Pick<ClusterAccess, "hub">; readonly selection: Selection },
  signal: AbortSignal,
): Promise<readonly Component[]> {
  const { cluster, on } = selection;
  const named = components.filter(({ spec }) => isNamed(spec?.clusterProfileRef, cluster));
  if (on === undefined) return named;
  const matches = labelMatcher(on, "--on");
  const { items } = await new ServedProfiles(access.hub).list(
    { resource: knownResource(clusterProfileApiVersion, "ClusterProfile") },
    {},
    signal,
  );
  const chosen = new Set(items.filter((profile) => matches(traitsOf(profile))).map(idOf));
  return named.filter(({ spec }) => {
    const ref = spec?.clusterProfileRef;
    return ref !== undefined && chosen.has(`${ref.namespace}/${ref.name}`);
  });
}

/** Whether `--cluster` and `--on` select a profile. Throws UsageError. */
export function isSelectedProfile(
  profile: KubeObject,
  { cluster, on }: Pick<Selection, "cluster" | "on">,
): boolean {
  const { namespace = "", name } = profile.metadata;
  if (!isNamed({ namespace, name }, cluster)) return false;
  return on === undefined || labelMatcher(on, "--on")(traitsOf(profile));
}

/** Whether a glob names a cluster, with or without its namespace; the hub is `<hub>`, and `hub` for short. */
function isNamed(ref: ClusterProfileRef | undefined, glob: string | undefined): boolean {
  if (glob === undefined) return true;
  if (ref === undefined) return glob === "<hub>" || glob === "hub";
  return globMatches(glob, glob.includes("/") ? `${ref.namespace}/${ref.name}` : ref.name);
}

/** Labels of a profile, and the properties of its status, which win. */
export function traitsOf(profile: KubeObject): Readonly<Record<string, string>> {
  const properties = itemsAt(profile, "status", "properties").flatMap((property) => {
    if (!isRecord(property)) return [];
    const { name, value } = property;
    return typeof name === "string" && typeof value === "string" ? [[name, value] as const] : [];
  });
  return { ...profile.metadata.labels, ...Object.fromEntries(properties) };
}

function idOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
