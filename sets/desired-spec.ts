import { type ClusterProfile, globMatches, propertiesOf } from "../api/cluster-profile.ts";
import { isRecord } from "../api/fields.ts";
import type { FleetSet, FleetSetSpec, SetOverride } from "../api/fleet-set.ts";
import { hashOf } from "../render/fields.ts";
import { matchesLabels } from "./select-clusters.ts";

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

/** Whether an override is for a cluster. */
function isForCluster(override: SetOverride, { metadata }: ClusterProfile): boolean {
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
    const values = new Values(profile);
    const filled = values.fill(spec, []);
    if (values.missing !== undefined) return { missing: values.missing };
    return { spec: fieldsOf(filled), hash: this.#hashOf(filled) };
  }

  #mergedFor(profile: ClusterProfile) {
    const { template, overrides = [] } = this.#content;
    const matching = overrides.filter((override) => isForCluster(override, profile));
    const key = matching.map(({ name }) => name).join("\n");
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const start: unknown = template.spec ?? {};
    const spec = matching.reduce((merged, { patch }) => mergePatch(merged, patch), start);
    const entry = { spec, hasValues: JSON.stringify(spec).includes("$(cluster.") };
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

/** Fields of the spec whose texts are taken as they are. */
const literalFields: readonly string[] = ["version", "manifests", "additionalManifests"];
const reference =
  /\$(?:\$\(|\(cluster\.(name|namespace|displayName|labels\[[^\]]+\]|properties\[[^\]]+\])(?::-([^)]*))?\))/g;
/** A value comes from a cluster manager; longer ones count as missing. */
const longestValue = 1_024;

/** What a ClusterProfile gives for `$(cluster.…)`. */
class Values {
  readonly #profile: ClusterProfile;
  #missing: string | undefined;

  constructor(profile: ClusterProfile) {
    this.#profile = profile;
  }

  /** The first reference without value and default. */
  get missing(): string | undefined {
    return this.#missing;
  }

  /** Replaces the references in all texts of a value, but not in names of fields and not in literal fields. */
  fill(value: unknown, path: readonly string[]): unknown {
    if (typeof value === "string") return this.#fillText(value);
    if (Array.isArray(value)) return value.map((item) => this.fill(item, [...path, "[]"]));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        name,
        path.length === 0 && literalFields.includes(name)
          ? field
          : this.fill(field, [...path, name]),
      ]),
    );
  }

  #fillText(text: string): string {
    return text.replaceAll(reference, (whole, what?: string, standIn?: string) => {
      if (what === undefined) return "$(";
      const value = this.#valueOf(what);
      if (value !== undefined && value !== "" && value.length <= longestValue) return value;
      if (standIn === undefined) this.#missing ??= `cluster.${what}`;
      return standIn ?? whole;
    });
  }

  #valueOf(what: string): string | undefined {
    const { metadata, spec } = this.#profile;
    if (what === "name") return metadata.name;
    if (what === "namespace") return metadata.namespace;
    if (what === "displayName") return spec?.displayName;
    const key = what.slice(what.indexOf("[") + 1, -1);
    return what.startsWith("labels") ? metadata.labels?.[key] : propertiesOf(this.#profile)[key];
  }
}
