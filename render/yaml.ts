import type { DocumentOptions, ParseOptions, SchemaOptions, Tags } from "yaml";

/** Options of the parser functions. */
type YamlOptions = ParseOptions & DocumentOptions & SchemaOptions;

const plainKinds = ["map", "seq", "str", "null", "bool", "int", "float"];

/**
 * Options to read YAML as kubectl and upstream do: version 1.1, in which a bare `on` or `yes` is a boolean and `0644`
 * is octal. Dates and times stay text. Merge keys are resolved.
 */
export const yaml11: YamlOptions = {
  version: "1.1",
  merge: true,
  logLevel: "error",
  customTags: withoutTimes,
};

/** The same options without merge keys, and with a warning for every tag that has no JSON type. Spec: security.md T-32. */
export const plainYaml11: YamlOptions = {
  ...yaml11,
  merge: false,
  // Version 1.1 has the tag for merge keys, whatever `merge` says.
  customTags: (tags) =>
    withoutTimes(tags).filter(
      (tag) =>
        typeof tag === "string" ||
        plainKinds.some((kind) => tag.tag === `tag:yaml.org,2002:${kind}`),
    ),
};

function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === "string" ||
      (tag.tag !== "tag:yaml.org,2002:timestamp" && (!("format" in tag) || tag.format !== "TIME")),
  );
}

/** The documents of a text. YAML 1.2, 9.2: `---` at the start of a line separates them even within a scalar. Parsing one at a time keeps memory low. */
export function documentsOf(text: string): readonly string[] {
  return text.split(/^---(?=\s|$)/m);
}

/** The value of a JSON text. Strings of the YAML parser are slices that keep the whole text in memory; those of a copy through JSON do not. */
export function detachedCopy(json: string): unknown {
  return JSON.parse(json);
}

/** Freezes a value deeply. A part that is frozen already counts as deeply frozen. */
export function deepFrozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
}
