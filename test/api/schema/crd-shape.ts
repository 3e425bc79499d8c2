import { isRecord } from "../../../api/fields.ts";

/** The only version of a CRD. */
export function version(crd: unknown): unknown {
  const versions = at(crd, ["spec", "versions"]);
  return Array.isArray(versions) ? versions[0] : undefined;
}

/** What stands at a path; undefined where nothing does. */
export function at(value: unknown, path: readonly string[]): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  return isRecord(value) ? at(value[first], rest) : undefined;
}

interface Field {
  readonly path: string;
  /** Everything but the description: type, format, enum, default, pattern, list type and so on. */
  readonly facts: string;
  readonly required: boolean;
  readonly described: boolean;
}

/** One line for each field of a CRD: its path, its type and rules, whether it is required. */
export function linesOf(crd: unknown): readonly string[] {
  return fieldsOf(crd).map(
    ({ path, facts, required }) => `${path} ${facts}${required ? " required" : ""}`,
  );
}

/** All fields of a CRD, from the top to the bottom. */
export function fieldsOf(crd: unknown): readonly Field[] {
  const schema = at(version(crd), ["schema", "openAPIV3Schema"]);
  return below("", schema, false).filter(({ path }) => path !== "");
}

function below(path: string, schema: unknown, required: boolean): readonly Field[] {
  if (!isRecord(schema)) return [];
  const { description, properties, items, additionalProperties, required: names, ...rest } = schema;
  const { type, "x-kubernetes-validations": _, ...facts } = rest;
  const extra = Object.keys(facts).length === 0 ? "" : ` ${JSON.stringify(sorted(facts))}`;
  const own = {
    path,
    facts: `${typeof type === "string" ? type : "any"}${extra}`,
    required,
    described: typeof description === "string" && description !== "",
  };
  const needed: readonly unknown[] = Array.isArray(names) ? names : [];
  return [
    own,
    ...Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, property]) =>
      below(`${path}.${name}`, property, needed.includes(name)),
    ),
    ...below(`${path}[]`, items, false),
    ...below(`${path}{}`, additionalProperties, false),
  ];
}

function sorted(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
