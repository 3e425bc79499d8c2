import { type ClusterProfile, propertiesOf } from "../api/cluster-profile.ts";
import { type FleetSetSpec, holdLabel } from "../api/fleet-set.ts";
import { isMarked } from "../api/kubernetes.ts";

/** The part of `metav1.LabelSelector` that sets use. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** A selector of ClusterProfiles by labels and properties. */
export interface ProfileSelector extends LabelSelector {
  readonly matchProperties?: readonly PropertyRequirement[];
}

type PropertyRequirement = Omit<Requirement, "key"> & { readonly name: string };

type ClusterSelector = NonNullable<FleetSetSpec["clusters"]["selector"]>;
type Exclusion = NonNullable<FleetSetSpec["clusters"]["exclude"]>[number];

/** True when labels match a selector. An empty selector matches everything, and an unknown operator matches nothing. */
export function matchesLabels(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => meets(requirement, labels[requirement.key]))
  );
}

/** As for labels in Kubernetes: `In` never matches a missing value, and `NotIn` always does. */
function meets({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  if (operator === "In") return value !== undefined && values.includes(value);
  if (operator === "NotIn") return value === undefined || !values.includes(value);
  if (operator === "Exists") return value !== undefined;
  return operator === "DoesNotExist" && value === undefined;
}

/** True when labels and properties of a ClusterProfile match a selector. A ClusterProfile that does not exist has neither. */
export function matchesProfile(
  selector: ProfileSelector,
  profile: ClusterProfile | undefined,
): boolean {
  const { matchProperties = [] } = selector;
  if (!matchesLabels(selector, profile?.metadata.labels)) return false;
  if (matchProperties.length === 0) return true;
  const properties = profile === undefined ? {} : propertiesOf(profile);
  return matchProperties.every(({ name, ...rest }) =>
    meets({ key: name, ...rest }, properties[name]),
  );
}

/** The namespaces in which a set finds ClusterProfiles. `home` is the namespace of the set. */
export function namespacesOf(clusters: FleetSetSpec["clusters"], home: string): readonly string[] {
  return (clusters.from === "Selector" ? clusters.selector?.namespaces : undefined) ?? [home];
}

/** True when a selector of a set selects a ClusterProfile. `home` is the namespace of the set. Spec: sets.md 5. */
export function selectsProfile(
  selector: ClusterSelector,
  profile: ClusterProfile,
  home: string,
): boolean {
  const { namespaces = [home], clusterManagers } = selector;
  const { namespace } = profile.metadata;
  const manager = profile.spec?.clusterManager?.name ?? "";
  return (
    namespaces.includes(namespace) &&
    clusterManagers?.includes(manager) !== false &&
    matchesProfile(selector, profile)
  );
}

/** True when `spec.clusters.exclude` names a ClusterProfile. `home` is the namespace of the set. */
export function isExcluded(
  exclude: readonly Exclusion[],
  { namespace, name }: { readonly namespace: string; readonly name: string },
  home: string,
): boolean {
  return exclude.some((one) => one.name === name && (one.namespace ?? home) === namespace);
}

/** True when no set may change the cluster of a ClusterProfile, because the profile has the label for that with any value but `false`. */
export function isHeld(profile: ClusterProfile | undefined): boolean {
  return isMarked(profile?.metadata.labels?.[holdLabel]);
}
