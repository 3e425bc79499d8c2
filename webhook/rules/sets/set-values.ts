import { isRecord } from "../../../api/fields.ts";
import { literalFields, referencesIn, referenceStart } from "../../../sets/values.ts";
import { keyProblem } from "../names.ts";
import { below, type Problem, problemAt, problemIf, quoteValue } from "../rule.ts";
import type { SetCheck } from "./set-rule.ts";

const known =
  "$(cluster.name), $(cluster.namespace), $(cluster.displayName), $(cluster.labels[KEY]) and $(cluster.properties[KEY]), each also with :-DEFAULT before the )";
const longestProperty = 253;

/** Refuses references `$(cluster.…)` outside the texts of template.spec and of patches, and invalid ones. */
export const values: SetCheck = ({ spec }) => {
  const { template, overrides = [] } = spec;
  return [
    ...metadataProblems(template.metadata ?? {}),
    ...specProblems(template.spec ?? {}, below("spec", "template", "spec")),
    ...overrides.flatMap(({ patch }, index) =>
      specProblems(patch, below("spec", "overrides", index, "patch")),
    ),
  ];
};

function metadataProblems(metadata: object): readonly Problem[] {
  const path = below("spec", "template", "metadata");
  const message = "is taken as it is; $(cluster.…) stands in texts of template.spec only";
  return placesBelow(metadata, path).flatMap(({ path: at, text }) =>
    problemIf(text.includes(referenceStart), at, message),
  );
}

function specProblems(spec: object, path: string): readonly Problem[] {
  return Object.entries(spec).flatMap(([field, value]) => {
    const isLiteral = literalFields.includes(field);
    return placesBelow({ [field]: value }, path).flatMap((place) =>
      isLiteral || place.isKey ? literalProblems(place) : textProblems(place),
    );
  });
}

function literalProblems({ path, text, isKey }: Place): readonly Problem[] {
  const message = isKey
    ? "the name of a field cannot have $(cluster.…), only its text can"
    : "is taken as it is and cannot have $(cluster.…)";
  return problemIf(text.includes(referenceStart), path, message);
}

function textProblems({ path, text }: Place): readonly Problem[] {
  if (!text.includes(referenceStart)) return [];
  const { references, rest } = referencesIn(text);
  const at = rest.indexOf(referenceStart);
  const wrong = problemIf(
    at >= 0,
    path,
    `has ${quoteValue(rest.slice(at))}, which is not understood; there are ${known}; $$(cluster. stands for $(cluster. itself`,
  );
  const keys = references.flatMap(({ what }) =>
    problemAt(path, referenceProblem(what, what.slice(what.indexOf("[") + 1, -1))),
  );
  return [...wrong, ...keys];
}

function referenceProblem(what: string, key: string): string | undefined {
  if (what.startsWith("labels[")) {
    const problem = keyProblem(key);
    return problem === undefined ? undefined : `$(cluster.${quoteValue(what)}): ${problem}`;
  }
  if (what.startsWith("properties[") && key.length > longestProperty) {
    return `the name of a property has at most ${longestProperty} characters (is ${quoteValue(key)})`;
  }
  return undefined;
}

/** A text in a spec, or the name of one of its fields. */
interface Place {
  readonly path: string;
  readonly text: string;
  readonly isKey: boolean;
}

/** All texts and names of fields in a value, with their paths. The rule `size` limits the depth. */
function placesBelow(value: unknown, path: string): readonly Place[] {
  if (typeof value === "string") return [{ path, text: value, isKey: false }];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => placesBelow(item, below(path, index)));
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const at = below(path, key);
    return [{ path: at, text: key, isKey: true }, ...placesBelow(field, at)];
  });
}

/** The paths of texts in a spec that have a reference without a default. */
export function openFieldsOf(spec: unknown): readonly string[] {
  return placesBelow(spec, "spec").flatMap(({ path, text, isKey }) =>
    !isKey && referencesIn(text).references.some(({ standIn }) => standIn === undefined)
      ? [path]
      : [],
  );
}
