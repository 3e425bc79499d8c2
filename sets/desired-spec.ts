import { type ClusterProfile, globMatches } from "../api/cluster-profile.ts";
import { isRecord } from "../api/fields.ts";
import type { FleetSetSpec, SetOverride } from "../api/fleet-set.ts";
import { hashOf } from "../render/fields.ts";
import { matchesProfile } from "./select-clusters.ts";
import { type Filled, fillValues, referenceStart, valuesOf } from "./values.ts";

/** The content of a revision of a set. */
export type RevisionContent = Pick<FleetSetSpec, "template" | "overrides"> & {
  /** The exact version for each text of `version` that names none, such as `1.23`; an empty text stands for none. Absent: all are exact. */
  readonly versions?: Readonly<Record<string, string>>;
  /** Digest of the rendering and of its release files. Absent: not known. */
  readonly digest?: string;
};

/** The desired spec of one cluster, or the reference to a value that the cluster lacks. */
export type DesiredSpec =
  | { readonly spec: Readonly<Record<string, unknown>>; readonly hash: string }
  | { readonly missing: string };

const hashLength = 10;

/** The first ten digits of the hash of a value, for names and annotations. */
export function shortHashOf(value: unknown): string {
  return hashOf(value).slice(0, hashLength);
}

/** Name of the ControllerRevision of a content. The hash includes the kind, because sets of both kinds may have equal names. Spec: sets.md 5, 11. */
export function revisionNameOf({
  kind,
  metadata,
  spec,
}: {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: RevisionContent;
}): string {
  const { template, overrides = [], versions, digest } = spec;
  const exact = versions === undefined ? {} : { versions };
  const rendered = digest === undefined ? {} : { digest };
  return `${metadata.name}-${shortHashOf({ kind, template, overrides, ...exact, ...rendered })}`;
}

/** Merges a patch over a value. Spec: RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(isRecord(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** The spec of a template with overrides merged over it, still with references to values of a cluster. */
export function mergedSpecOf(
  template: RevisionContent["template"],
  overrides: readonly SetOverride[],
): unknown {
  const start: unknown = template.spec ?? {};
  return overrides.reduce((merged, { patch }) => mergePatch(merged, patch), start);
}

/** True when an override applies to a cluster. */
export function isForCluster(override: SetOverride, profile: ClusterProfile): boolean {
  const { selector, clusters = [] } = override;
  return (
    clusters.some((pattern) => globMatches(pattern, profile.metadata.name)) ||
    (selector !== undefined && matchesProfile(selector, profile))
  );
}

/** The spec that all clusters with equal overrides share. */
interface Merged {
  readonly overrides: string;
  readonly spec: unknown;
  /** Its references to values of a cluster; undefined when it has none. */
  readonly asked: readonly string[] | undefined;
}

/** Computes the desired specs of one revision. Clusters with equal overrides and values share one spec, which is computed once. */
export class DesiredSpecs {
  readonly #content: RevisionContent;
  readonly #merged = new Map<string, Merged>();
  readonly #desired = new Map<string, DesiredSpec>();

  constructor(content: RevisionContent) {
    this.#content = content;
  }

  of(profile: ClusterProfile): DesiredSpec {
    const { overrides, spec, asked } = this.#mergedFor(profile);
    const valueOf = valuesOf(profile);
    const values = asked?.map((what) => valueOf(what, undefined) ?? null);
    const key = values === undefined ? overrides : JSON.stringify([overrides, values]);
    const known = this.#desired.get(key);
    if (known !== undefined) return known;
    const desired = this.#desiredFrom(
      asked === undefined ? { filled: spec, missing: undefined } : fillValues(spec, valueOf),
    );
    this.#desired.set(key, desired);
    return desired;
  }

  #mergedFor(profile: ClusterProfile): Merged {
    const { template, overrides = [] } = this.#content;
    const matching = overrides.filter((override) => isForCluster(override, profile));
    const key = matching.map(({ name }) => name).join("\n");
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const spec = mergedSpecOf(template, matching);
    const merged = { overrides: key, spec, asked: referencesOf(spec) };
    this.#merged.set(key, merged);
    return merged;
  }

  /** Also hashes the metadata of the template, which is stamped with the spec. */
  #desiredFrom({ filled, missing }: Filled): DesiredSpec {
    if (missing !== undefined) return { missing };
    const spec = this.withExactVersion(isRecord(filled) ? filled : {});
    return { spec, hash: shortHashOf([this.#content.template.metadata ?? {}, spec]) };
  }

  /** A spec with the exact version of the revision in place of its version. */
  withExactVersion(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const { version = "", manifests } = spec;
    const exact = this.#content.versions?.[String(version)];
    // No folder knows the versions of a user's own manifests.
    const isOwn = Array.isArray(manifests) && manifests.length > 0;
    return exact === undefined || isOwn ? spec : { ...spec, version: exact };
  }
}

function referencesOf(spec: unknown): readonly string[] | undefined {
  if (!JSON.stringify(spec).includes(referenceStart)) return undefined;
  const asked = new Set<string>();
  fillValues(spec, (what) => {
    asked.add(what);
    return "";
  });
  return [...asked];
}
