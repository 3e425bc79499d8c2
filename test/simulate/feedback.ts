import { conditionOf, valueAt } from "../fleet/json-record.ts";

/** What Open Cluster Management tells of the field of an object at one of our JSONPaths; undefined when there is none. */
export function feedbackAt(object: unknown, path: string): object | undefined {
  const [, type, field] =
    /^\.status\.conditions\[\?\(@\.type=="(\w+)"\)\]\.(\w+)$/.exec(path) ?? [];
  const value =
    type === undefined || field === undefined
      ? valueAt(object, ...stepsOf(path))
      : valueAt(conditionOf(object, type), field);
  if (typeof value === "string") return { type: "String", string: value };
  return typeof value === "number" ? { type: "Integer", integer: value } : undefined;
}

/** The names in a path: dots in them have a backslash. */
function stepsOf(path: string): readonly string[] {
  return path
    .slice(1)
    .split(/(?<!\\)\./)
    .map((step) => step.replaceAll(String.raw`\.`, "."));
}
