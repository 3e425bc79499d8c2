import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { nameId } from "../../api/keys.ts";
import type { NamespacedName } from "../../api/kubernetes.ts";
import { identityInProfile, managers, type Producer, shortDigest, type Source } from "./source.ts";

/** What is to be done about one profile. */
export type PlannedProfile =
  /** The profile of a source is written. */
  | {
      readonly kind: "discovered";
      readonly ref: NamespacedName;
      readonly source: Source;
    }
  /** Another manager has a profile of that name. It stays as it is. */
  | {
      readonly kind: "taken";
      readonly ref: NamespacedName;
      readonly source: Source;
      readonly manager: string;
    }
  /** `gone`: its source does not exist any more. `registered`: `register` made it, and its health and version are written. */
  | { readonly kind: "gone" | "registered"; readonly producer: Producer };

interface PlanFacts {
  readonly sources: Iterable<Source>;
  readonly profiles: Iterable<ClusterProfile>;
  /** Namespace of the profiles; empty: that of the source. */
  readonly namespace: string;
  /** Producers whose sources are all known. Only their profiles can be without a source. */
  readonly complete: readonly Producer[];
}

const maxName = 63;
const ownManagers: ReadonlySet<string> = new Set(Object.values(managers));

/** Decides for each profile what is to be done, by `namespace/name`. A source whose name is taken has a key of its own. */
export function planProfiles(facts: PlanFacts): ReadonlyMap<string, PlannedProfile> {
  const { complete } = facts;
  const profiles = new Map([...facts.profiles].map((one) => [nameId(one.metadata), one]));
  const plan = new Map<string, PlannedProfile>();
  for (const [source, ref] of namedSources(facts, profiles)) {
    const key = nameId(ref);
    const planned = plannedFor(source, ref, profiles.get(key));
    // A profile that `register` made is kept up to date although a source wants its name.
    plan.set(planned.kind === "taken" ? `${key} for ${source.identity}` : key, planned);
  }
  for (const [key, profile] of profiles) {
    const producer = complete.find((one) => managers[one] === managerOf(profile));
    if (producer === undefined || plan.has(key)) continue;
    plan.set(key, { kind: producer === "registered" ? "registered" : "gone", producer });
  }
  return plan;
}

/** `spec.clusterManager.name` of a profile. */
export function managerOf({ spec }: ClusterProfile): string {
  return spec?.clusterManager?.name ?? "";
}

function plannedFor(
  source: Source,
  ref: NamespacedName,
  present: ClusterProfile | undefined,
): PlannedProfile {
  const owner = present && identityInProfile(present);
  const isOurs = present !== undefined && managerOf(present) === managers[source.producer];
  if (present === undefined || (isOurs && (owner ?? source.identity) === source.identity)) {
    return { kind: "discovered", ref, source };
  }
  return { kind: "taken", ref, source, manager: managerOf(present) };
}

/**
 * Gives each source the name of its profile. A source keeps the profile that it has. A profile of another source is never taken over, also when that source is gone: components
 * that use the profile would come to another cluster.
 */
function namedSources(
  { sources, namespace }: PlanFacts,
  profiles: ReadonlyMap<string, ClusterProfile>,
): readonly (readonly [Source, NamespacedName])[] {
  const owners = new Map<string, string>();
  for (const [key, profile] of profiles) {
    const identity = identityInProfile(profile);
    if (identity !== undefined && ownManagers.has(managerOf(profile))) owners.set(key, identity);
  }
  const isOwn = ({ identity }: Source, ref: NamespacedName): boolean =>
    owners.get(nameId(ref)) === identity;
  const isFree = ({ identity }: Source, ref: NamespacedName): boolean =>
    (owners.get(nameId(ref)) ?? identity) === identity;
  return [...sources].toSorted(byAge).map((source) => {
    const refs = possibleRefs(source, namespace);
    const ref = refs.find((one) => isOwn(source, one)) ?? refs.find((one) => isFree(source, one));
    if (ref !== undefined) owners.set(nameId(ref), source.identity);
    // Profiles that name other sources have all its names. Nothing is written to them.
    return [source, ref ?? refs[0]] as const;
  });
}

function byAge(one: Source, other: Source): number {
  const [a, b] = [one, other].map(({ createdAt, identity }) => `${createdAt} ${identity}`);
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

/** The names that the profile of a source may have, best first. The last one is of no other source. */
function possibleRefs(
  { name, object, identity }: Source,
  profileNamespace: string,
): readonly [NamespacedName, ...NamespacedName[]] {
  const { namespace: own } = object.metadata;
  const namespace = profileNamespace === "" ? own : profileNamespace;
  const refOf = (text: string): NamespacedName => ({ namespace, name: shortName(text) });
  const long = `${own}-${name}`;
  return [refOf(name), refOf(long), refOf(`${long}-${shortDigest(identity)}`)];
}

/** A name of at most 63 characters. A longer one is cut and ends with a part of its hash. */
function shortName(text: string): string {
  if (text.length <= maxName) return text;
  const digest = shortDigest(text);
  return `${text.slice(0, maxName - digest.length - 1).replace(/[-.]+$/, "")}-${digest}`;
}
