import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";

import { type ComponentKind, operatorApiVersion } from "../../../../api/component.ts";
import { isRecord } from "../../../../api/fields.ts";
import { componentStatus } from "../../../../api/schema/component-status.ts";
import { eventingSpec } from "../../../../api/schema/eventing-spec.ts";
import { stringMap } from "../../../../api/schema/primitives.ts";
import { servingSpec } from "../../../../api/schema/serving-spec.ts";

/** Says what is wrong with a component, each problem as `path: what`; fills in the schema's defaults. */
export type ComponentCheck = (value: unknown) => readonly string[];

const text = { type: "string" } as const;
const metadata = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 1 },
    namespace: { type: "string", minLength: 1 },
    uid: text,
    resourceVersion: text,
    labels: stringMap,
    annotations: stringMap,
  },
} as const;

const limits = { int32: 2 ** 31, int64: 2 ** 63 } as const;
const specs = { KnativeServing: servingSpec, KnativeEventing: eventingSpec } as const;

/** Checks against the schemas that the CRDs are made of; fields that they do not have are problems, too. Compiles each when first used. */
export function componentCheck(): (kind: ComponentKind) => ComponentCheck {
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    useDefaults: true,
    // Compiling takes longer than all checks of a file.
    code: { optimize: false },
    formats: { int32: rangeOf("int32"), int64: rangeOf("int64") },
  });
  const compiled = new Map<ComponentKind, ValidateFunction>();
  return (kind) => (value) => {
    const validate = compiled.get(kind) ?? ajv.compile(schemaOf(kind));
    compiled.set(kind, validate);
    return validate(value) ? [] : [...new Set((validate.errors ?? []).map(problemOf))];
  };
}

function rangeOf(format: keyof typeof limits) {
  const limit = limits[format];
  return { type: "number", validate: (value: number) => value >= -limit && value < limit } as const;
}

function schemaOf(kind: ComponentKind): object {
  return {
    type: "object",
    required: ["apiVersion", "kind", "metadata"],
    additionalProperties: false,
    properties: {
      apiVersion: { const: operatorApiVersion },
      kind: { const: kind },
      metadata,
      spec: closed(specs[kind]),
      status: componentStatus,
    },
  };
}

/** The schema with no other fields than its own; a number or text as a union, so that a wrong value is one error and not three. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isRecord(schema)) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([field, value]) => [
      field,
      field === "properties" && isRecord(value) ? mapped(value) : closed(value),
    ]),
  );
  if (inner["x-kubernetes-int-or-string"] === true) {
    const { anyOf: _, ...rest } = inner;
    return { ...rest, type: ["integer", "string"] };
  }
  const isOpen = inner["properties"] === undefined || inner["additionalProperties"] !== undefined;
  return isOpen ? inner : { ...inner, additionalProperties: false };
}

function mapped(properties: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, closed(one)]));
}

type Problem = ErrorObject<string, Readonly<Record<string, unknown>>>;

function problemOf(error: ErrorObject): string {
  const { instancePath, keyword, params, message }: Problem = error;
  const path = pathOf(instancePath);
  if (keyword === "required")
    return `${joined(path, String(params["missingProperty"]))}: is required`;
  if (keyword === "additionalProperties") {
    return `${joined(path, String(params["additionalProperty"]))}: unknown field`;
  }
  const at = path === "" ? "document" : path;
  if (keyword === "type") return `${at}: must be ${String(params["type"]).replaceAll(",", " or ")}`;
  if (keyword === "const") return `${at}: must be ${String(params["allowedValue"])}`;
  if (keyword === "minLength") return `${at}: must not be empty`;
  if (keyword === "enum") return `${at}: must be one of ${String(params["allowedValues"])}`;
  if (keyword === "pattern") return `${at}: must be a quantity such as 250m or 1Gi`;
  if (keyword === "format") return `${at}: must fit into ${String(params["format"])}`;
  return `${at}: ${message ?? "is invalid"}`;
}

/** `/spec/workloads/0/name` as `spec.workloads[0].name`. */
function pathOf(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce(joined, "");
}

function joined(path: string, part: string): string {
  if (/^\d+$/.test(part) && path !== "") return `${path}[${part}]`;
  if (!/^[\w-]+$/.test(part)) return `${path}[${JSON.stringify(part)}]`;
  return path === "" ? part : `${path}.${part}`;
}
