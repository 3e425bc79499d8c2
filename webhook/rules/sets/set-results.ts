import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { canonicalJson, isRecord } from "../../../api/fields.ts";
import type { FleetSetSpec, SetOverride } from "../../../api/fleet-set.ts";
import { isForCluster, mergedSpecOf } from "../../../sets/desired-spec.ts";
import { selectsProfile } from "../../../sets/select-clusters.ts";
import { fillValues } from "../../../sets/values.ts";
import { below, type Fields, type Problem, problemIf, quoteValue } from "../rule.ts";
import { openFieldsOf } from "./set-values.ts";

/** The spec that a template gives with some of the overrides. */
export interface Result {
  /** Their places in spec.overrides, in order. */
  readonly overrides: readonly number[];
  /** With a stand-in for values that have no default. */
  readonly spec: Fields;
  /** The fields that have a stand-in. */
  readonly openFields: readonly string[];
}

/** The distinct results of a set, those with the fewest overrides first. */
export interface Results {
  readonly results: readonly Result[];
  /** Whether the clusters give more than are allowed; the rest is not in `results` then. */
  readonly tooMany: boolean;
}

const maxResults = 64;
// Patterns and selectors that are held against profiles.
const maxMatches = 200_000;
// Good for most fields: a name, a value of a label, part of an image.
const standInValue = "cluster-1";

/**
 * The specs that clusters can get: of the template alone, of the combinations of overrides that the known profiles have, and of each override alone;
 * 64 at most.
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

/** The overrides that profiles have, each combination once. Looks at fewer profiles when there are many patterns. */
function combinationsOf(
  overrides: readonly SetOverride[],
  profiles: readonly ClusterProfile[],
): Iterable<readonly number[]> {
  const patterns = overrides.reduce((sum, { clusters = [] }) => sum + 1 + clusters.length, 1);
  const combinations = new Map<string, readonly number[]>();
  for (const profile of profiles.slice(0, Math.floor(maxMatches / patterns))) {
    const chosen = overrides.flatMap((one, index) => (isForCluster(one, profile) ? [index] : []));
    combinations.set(chosen.join(), chosen);
  }
  return combinations.values();
}

/** The profiles that a set can choose from. Of a placement it is not known here which ones it chooses. */
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

/** More distinct specs than are allowed. */
export function tooManyResults({ tooMany }: Results): readonly Problem[] {
  const message = `the clusters that are selected now get more than ${maxResults} different specs`;
  return problemIf(tooMany, "spec.overrides", message);
}

/** A problem of a result as a problem of the set: at the override that brings the field, or in the template. Undefined where only a stand-in is wrong. */
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
