import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { canonicalJson, isRecord } from "../../../api/fields.ts";
import type { FleetSetSpec, SetOverride } from "../../../api/fleet-set.ts";
import { isForCluster, mergedSpecOf } from "../../../sets/desired-spec.ts";
import { selectsProfile } from "../../../sets/select-clusters.ts";
import { fillValues } from "../../../sets/values.ts";
import { below, type Fields, type Problem, problemIf, quoteValue } from "../rule.ts";
import type { SetCheck } from "./set-rule.ts";
import { openFieldsOf } from "./set-values.ts";

/** The spec of the template with some of the overrides. */
export interface Result {
  /** Indexes of these overrides in spec.overrides, in order. */
  readonly overrides: readonly number[];
  /** References without a default have a placeholder. */
  readonly spec: Fields;
  /** The fields with a placeholder. */
  readonly openFields: readonly string[];
}

/** The distinct results of a set, those with the fewest overrides first. */
export interface Results {
  readonly results: readonly Result[];
  /** True when the selected clusters get more distinct specs than are allowed. Then `results` holds only some. */
  readonly tooMany: boolean;
}

const maxResults = 64;
// Limit of the matches of a pattern or a selector with a profile.
const maxMatches = 200_000;
// Valid in most fields: as a name, as the value of a label, as part of an image.
const standInValue = "cluster-1";

/**
 * The distinct specs that clusters can get, 64 at most: from the template alone, from each combination of overrides that applies to one of `profiles`,
 * and from each override alone.
 */
export function resultsOf(
  { template, overrides = [] }: Pick<FleetSetSpec, "template" | "overrides">,
  profiles: readonly ClusterProfile[],
): Results {
  const bySpec = new Map<string, Result>();
  const add = (chosen: readonly number[]): void => {
    const matching = chosen.flatMap((index) => overrides[index] ?? []);
    const merged = mergedSpecOf(template, matching);
    const { filled } = fillValues(merged, (_what, standIn) => standIn ?? standInValue);
    const key = canonicalJson(merged);
    if (bySpec.has(key)) return;
    const spec = isRecord(filled) ? filled : {};
    bySpec.set(key, { overrides: chosen, spec, openFields: openFieldsOf(merged) });
  };
  const combinations = combinationsOf(overrides, profiles);
  for (const chosen of combinations) {
    add(chosen);
    if (bySpec.size > maxResults) break;
  }
  const tooMany = bySpec.size > maxResults;
  for (const chosen of [[], ...overrides.map((_, index) => [index])]) add(chosen);
  const results = [...bySpec.values()].slice(0, maxResults);
  return { results: results.toSorted((a, b) => a.overrides.length - b.overrides.length), tooMany };
}

/** The combinations of overrides that apply to profiles, each once. With many patterns, only the first profiles are matched. */
function combinationsOf(
  overrides: readonly SetOverride[],
  profiles: readonly ClusterProfile[],
): Iterable<readonly number[]> {
  const combinations = new Map<string, readonly number[]>();
  for (const profile of profiles.slice(0, mostProfilesFor(overrides))) {
    const chosen = overrides.flatMap((one, index) => (isForCluster(one, profile) ? [index] : []));
    combinations.set(chosen.join(), chosen);
  }
  return combinations.values();
}

/** Number of profiles that may be matched with all patterns of the overrides. */
function mostProfilesFor(overrides: readonly SetOverride[]): number {
  const patterns = overrides.reduce((sum, { clusters = [] }) => sum + 1 + clusters.length, 1);
  return Math.floor(maxMatches / patterns);
}

/** The profiles that a set may select. For a placement these are all in its namespace, because its decision is not known here. */
export function candidatesOf(
  { clusters }: FleetSetSpec,
  profiles: readonly ClusterProfile[],
  home: string,
): readonly ClusterProfile[] {
  if (clusters.from !== "Selector") {
    return profiles.filter(({ metadata }) => metadata.namespace === home);
  }
  return profiles.filter((profile) => selectsProfile(clusters.selector ?? {}, profile, home));
}

/** Warns of overrides that no selected cluster gets now; not while nothing is selected. */
export const idleOverrides: SetCheck = ({ spec, namespace, changed }, { profiles }) => {
  const { overrides = [] } = spec;
  if (profiles === undefined || !(changed.clusters || changed.content)) return [];
  const candidates = candidatesOf(spec, profiles, namespace);
  if (candidates.length === 0 || candidates.length > mostProfilesFor(overrides)) return [];
  return overrides.flatMap((override, index) =>
    problemIf(
      !candidates.some((profile) => isForCluster(override, profile)),
      below("spec", "overrides", index),
      "applies to no cluster that is selected now",
    ),
  );
};

/** Refuses a set whose clusters get more distinct specs than are allowed. */
export function tooManyResults({ tooMany }: Results): readonly Problem[] {
  const message = `the clusters that are selected now get more than ${maxResults} different specs`;
  return problemIf(tooMany, "spec.overrides", message);
}

/** Turns a problem of a result into one of the set, at the override that sets the field or at the template. Undefined when only a placeholder is invalid. */
export function problemOfSet(
  { path, message }: Problem,
  { overrides: chosen, openFields }: Result,
  { overrides = [] }: FleetSetSpec,
): Problem | undefined {
  if (openFields.some((field) => field.startsWith(path) || path.startsWith(field)))
    return undefined;
  const rest = path.slice("spec".length);
  const [, field = ""] = /^(?:\.|\[")([\w-]+)/.exec(rest) ?? [];
  const owner = chosen.findLast((index) => Object.hasOwn(overrides[index]?.patch ?? {}, field));
  const place =
    owner === undefined
      ? below("spec", "template", "spec")
      : below("spec", "overrides", owner, "patch");
  const others = chosen.filter((index) => index !== owner);
  const names = others.map((index) => quoteValue(overrides[index]?.name)).join(", ");
  return {
    path: `${place}${rest}`,
    message: others.length === 0 ? message : `${message} (together with override ${names})`,
  };
}
