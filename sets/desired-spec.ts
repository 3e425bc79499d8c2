import { type ClusterProfile, globMatches } from "../api/cluster-profile.ts";
import { isRecord } from "../api/fields.ts";
import type { FleetSet, FleetSetSpec, SetOverride } from "../api/fleet-set.ts";
import { hashOf } from "../render/fields.ts";
import { matchesLabels } from "./select-clusters.ts";
import { fillValues, referenceStart, valuesOf } from "./values.ts";

/** What a revision of a set holds. */
export type RevisionContent = Pick<FleetSetSpec, "template" | "overrides">;

/** The spec that a revision wants for one cluster, or the value that the cluster lacks. */
export type DesiredSpec =
  | { readonly spec: Readonly<Record<string, unknown>>; readonly hash: string }
  | { readonly missing: string };

const hashLength = 10;

/** The first digits of the hash of a value, for names and annotations. */
export function shortHashOf(value: unknown): string {
  return hashOf(value).slice(0, hashLength);
}

/** Name of the ControllerRevision of what a set wants. Only template and overrides count: a change of the rollout is no new revision. Sets of both kinds may have one name. Spec: sets.md 5, 11. */
export function revisionNameOf({
  kind,
  metadata,
  spec,
}: Pick<FleetSet, "kind" | "metadata" | "spec">): string {
  const { template, overrides = [] } = spec;
  return `${metadata.name}-${shortHashOf({ kind, template, overrides })}`;
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

/** The spec of a template with overrides, before values of a cluster are filled in. */
export function mergedSpecOf(
  template: RevisionContent["template"],
  overrides: readonly SetOverride[],
): unknown {
  const start: unknown = template.spec ?? {};
  return overrides.reduce((merged, { patch }) => mergePatch(merged, patch), start);
}

/** Whether an override is for a cluster. */
export function isForCluster(override: SetOverride, { metadata }: ClusterProfile): boolean {
  const { selector, clusters = [] } = override;
  return (
    clusters.some((pattern) => globMatches(pattern, metadata.name)) ||
    (selector !== undefined && matchesLabels(selector, metadata.labels))
  );
}

/** Computes the specs of one revision. Clusters with the same overrides and values share the work. */
export class DesiredSpecs {
  readonly #content: RevisionContent;
  readonly #merged = new Map<string, { readonly spec: unknown; readonly hasValues: boolean }>();
  readonly #hashes = new Map<unknown, string>();

  constructor(content: RevisionContent) {
    this.#content = content;
  }

  of(profile: ClusterProfile): DesiredSpec {
    const { spec, hasValues } = this.#mergedFor(profile);
    if (!hasValues) return { spec: fieldsOf(spec), hash: this.#hashOf(spec) };
    const { filled, missing } = fillValues(spec, valuesOf(profile));
    if (missing !== undefined) return { missing };
    return { spec: fieldsOf(filled), hash: this.#hashOf(filled) };
  }

  #mergedFor(profile: ClusterProfile) {
    const { template, overrides = [] } = this.#content;
    const matching = overrides.filter((override) => isForCluster(override, profile));
    const key = matching.map(({ name }) => name).join("\n");
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const spec = mergedSpecOf(template, matching);
    const entry = { spec, hasValues: JSON.stringify(spec).includes(referenceStart) };
    this.#merged.set(key, entry);
    return entry;
  }

  /** Also the metadata of the template is part of what is stamped. */
  #hashOf(spec: unknown): string {
    const known = this.#hashes.get(spec);
    if (known !== undefined) return known;
    const hash = shortHashOf([this.#content.template.metadata ?? {}, spec]);
    this.#hashes.set(spec, hash);
    return hash;
  }
}

function fieldsOf(spec: unknown): Readonly<Record<string, unknown>> {
  return isRecord(spec) ? spec : {};
}
