import { readFileSync } from "node:fs";
import { join } from "node:path";

import { isRecord } from "../../../api/fields.ts";
import type { SpokeRequest } from "../spoke-request.ts";

/** The shapes of all requests of the scenarios, a line each. `request-shape.test.ts` writes it. */
export const comparedShapesFile = join(import.meta.dirname, "compared-shapes.txt");

export function comparedShapes(): ReadonlySet<string> {
  return new Set(readFileSync(comparedShapesFile, "utf8").split("\n"));
}

/** Their values are names, times and numbers, and not another way of asking. */
const valuesOfNoMatter = ["fieldManager", "resourceVersion", "timeoutSeconds", "limit", "continue"];
const conditions = ["uid", "resourceVersion"];

/**
 * How a request asks an API server, without the object that it is about: verb, subresource, formats, options, and what has to be so. `undefined` where it is about no objects, or
 * goes on to somebody else's server.
 */
export function shapeOf(request: SpokeRequest): string | undefined {
  const { kind, verb, subresource, contentType, shape, query, body } = request;
  if (kind === undefined || subresource === "proxy") return undefined;
  const options = [...query].map(([name, value]) => optionOf(name, value)).toSorted();
  return [
    verb,
    ...(subresource === undefined ? [] : [subresource]),
    ...(verb === "patch" ? contentType.split("+", 1) : []),
    ...(shape === "metadata" ? [shape] : []),
    ...options,
    ...conditionsIn(body),
  ].join(" ");
}

function optionOf(name: string, value: string): string {
  if (name === "labelSelector") return `labelSelector(${operatorsIn(value)})`;
  if (name === "fieldSelector") return `fieldSelector(${fieldsIn(value)})`;
  return valuesOfNoMatter.includes(name) ? name : `${name}=${value}`;
}

/** How a selector selects: `exists`, `=`, `in`. */
function operatorsIn(selector: string): string {
  const terms = selector.replaceAll(/\([^)]*\)/g, "").split(",");
  const operators = terms.map((term) => {
    return / notin\b| in\b|!=|=|^!/.exec(term)?.[0].trim() ?? "exists";
  });
  return [...new Set(operators)].toSorted().join(",");
}

/** Each field once, with how its value is compared. */
function fieldsIn(selector: string): string {
  const terms = selector.split(",").map((term) => term.replace(/=[^=]*$/, "="));
  return [...new Set(terms)].join(",");
}

/** What has to be so for a write to be taken. */
function conditionsIn(body: unknown): readonly string[] {
  if (Array.isArray(body)) {
    const operations = body.map((operation) => (isRecord(operation) ? operation["op"] : ""));
    return operations.includes("test") ? ["if test"] : [];
  }
  if (!isRecord(body)) return [];
  const { metadata, preconditions } = body;
  const named = [metadata, preconditions].filter(isRecord).flatMap((one) => Object.keys(one));
  return conditions.filter((name) => named.includes(name)).map((name) => `if ${name}`);
}
