import { type ClusterProfile, propertiesOf } from "../api/cluster-profile.ts";
import { isRecord } from "../api/fields.ts";

/** Fields of the spec in which references are not replaced. */
export const literalFields: readonly string[] = ["version", "manifests", "additionalManifests"];

/** Prefix of every reference to a value of a cluster. */
export const referenceStart = "$(cluster.";
const reference =
  /\$(?:\$\(cluster\.|\(cluster\.(name|namespace|displayName|labels\[[^\]]+\]|properties\[[^\]]+\])(?::-([^)]*))?\))/g;
/** A longer value counts as missing, because values come from cluster managers. */
const longestValue = 1_024;

/** Returns the value of a reference such as `labels[region]`, or `standIn`, the default of the reference, when it has none. */
export type ValueOf = (what: string, standIn: string | undefined) => string | undefined;

/** The values of `$(cluster.…)` for a ClusterProfile. */
export function valuesOf(profile: ClusterProfile): ValueOf {
  const { metadata, spec } = profile;
  const properties = propertiesOf(profile);
  const valueOf = (what: string): string | undefined => {
    if (what === "name") return metadata.name;
    if (what === "namespace") return metadata.namespace;
    if (what === "displayName") return spec?.displayName;
    const key = what.slice(what.indexOf("[") + 1, -1);
    return what.startsWith("labels") ? metadata.labels?.[key] : properties[key];
  };
  return (what, standIn) => {
    const value = valueOf(what) ?? "";
    return value === "" || value.length > longestValue ? standIn : value;
  };
}

/** A spec with its references replaced, and the first reference with neither a value nor a default. */
export interface Filled {
  readonly filled: unknown;
  readonly missing: string | undefined;
}

/** Replaces the references in all texts of a spec, except in names of fields and in literal fields. `$$(cluster.` becomes `$(cluster.`. */
export function fillValues(spec: unknown, valueOf: ValueOf): Filled {
  let missing: string | undefined;
  const fillText = (text: string): string =>
    text.replaceAll(reference, (whole, what?: string, standIn?: string) => {
      if (what === undefined) return referenceStart;
      const value = valueOf(what, standIn);
      if (value === undefined) missing ??= `cluster.${what}`;
      return value ?? whole;
    });
  const fill = (value: unknown): unknown => {
    if (typeof value === "string") return fillText(value);
    if (Array.isArray(value)) return value.map(fill);
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, fill(field)]));
  };
  if (!isRecord(spec)) return { filled: fill(spec), missing };
  const fields = Object.entries(spec).map(([name, field]) => [
    name,
    literalFields.includes(name) ? field : fill(field),
  ]);
  return { filled: Object.fromEntries(fields), missing };
}

/** The references in a text, each with its default, and the rest of the text. */
export function referencesIn(text: string): {
  readonly references: readonly { readonly what: string; readonly standIn: string | undefined }[];
  readonly rest: string;
} {
  const references = Array.from(text.matchAll(reference), ([, what = "", standIn]) => ({
    what,
    standIn,
  }));
  return {
    references: references.filter(({ what }) => what !== ""),
    rest: text.replaceAll(reference, ""),
  };
}
