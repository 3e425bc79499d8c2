import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";

import { type Component, type ComponentKind, operatorApiVersion } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import { tokensOf } from "../../api/json-pointer.ts";
import {
  type KnativeEventingSpec,
  type KnativeServingSpec,
  eventingSpec,
  servingSpec,
} from "../../api/schema/component-spec.ts";
import { quantity } from "../../api/schema/primitives.ts";
import { below, type Check, type Fields, type Problem, problemIf, quoteValue } from "./rule.ts";

/** A component of the right shape, or what is wrong with its shape. */
export type Shaped =
  | { readonly component: Component; readonly problems: readonly [] }
  | { readonly component: undefined; readonly problems: readonly Problem[] };

/** What a spec lacks to be a component. */
export interface Place {
  readonly kind: ComponentKind;
  readonly namespace: string;
  readonly name: string;
  /** `status.version`. */
  readonly installed: string | undefined;
}

const integerLimits = { int32: 2 ** 31, int64: 2 ** 63 } as const;
const maxProblems = 100;

/**
 * Checks specs against the schemas that the CRDs are made of, because another CRD may have let the component in. Fields that they do not
 * have are no problem: the operator that is installed may know them.
 */
export function shaper(): (spec: Fields, place: Place) => Shaped {
  const serving = compileShape<KnativeServingSpec>(servingSpec);
  const eventing = compileShape<KnativeEventingSpec>(eventingSpec);
  return (spec, { kind, namespace, name, installed }) => {
    const common = {
      apiVersion: operatorApiVersion,
      metadata: { namespace, name, uid: "", resourceVersion: "" },
      ...(installed === undefined ? {} : { status: { version: installed } }),
    } as const;
    if (kind === "KnativeServing") {
      if (serving(spec)) return { component: { kind, ...common, spec }, problems: [] };
      return { component: undefined, problems: problemsOf(serving) };
    }
    if (eventing(spec)) return { component: { kind, ...common, spec }, problems: [] };
    return { component: undefined, problems: problemsOf(eventing) };
  };
}

/** A check of specs against a schema of the API. */
export function compileShape<Spec>(schema: object): ValidateFunction<Spec> {
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    // Optimizing takes longer than the result saves.
    code: { optimize: false },
    formats: { int32: rangeOf("int32"), int64: rangeOf("int64") },
  });
  return ajv.compile<Spec>(withUnionTypes(schema));
}

function rangeOf(format: keyof typeof integerLimits) {
  const limit = integerLimits[format];
  return { type: "number", validate: (value: number) => value >= -limit && value < limit } as const;
}

/** The schema with "number or text" as one union type, so that a wrong value gives one error and not three. */
function withUnionTypes(schema: unknown): object {
  const fields = Object.entries(isRecord(schema) ? schema : {}).map(([key, value]) => [
    key,
    isRecord(value) ? withUnionTypes(value) : value,
  ]);
  const { anyOf, ...rest }: Fields = Object.fromEntries(fields);
  if (rest["x-kubernetes-int-or-string"] !== true) {
    return anyOf === undefined ? rest : { ...rest, anyOf };
  }
  return { ...rest, type: ["integer", "string"] };
}

/** What the last check found, below `spec`. */
export function problemsOf({ errors }: ValidateFunction): readonly Problem[] {
  return (errors ?? []).slice(0, maxProblems).map(problemOf);
}

const wantQuantity = "must be a quantity such as 250m or 1Gi";

type Wrong = ErrorObject<string, Fields>;

function problemOf(error: ErrorObject): Problem {
  const { instancePath, keyword, params, message = "is not valid" }: Wrong = error;
  const path = pathOf(instancePath);
  switch (keyword) {
    case "required":
      return { path: below(path, String(params["missingProperty"])), message: "is required" };
    case "type":
      return { path, message: `must be ${String(params["type"]).replaceAll(",", " or ")}` };
    case "minLength":
      return { path, message: "must not be empty" };
    case "enum":
      return {
        path,
        message: `must be one of ${String(params["allowedValues"]).replaceAll(",", ", ")}`,
      };
    case "pattern":
      return {
        path,
        message: params["pattern"] === quantity.pattern ? wantQuantity : message,
      };
    case "format":
      return { path, message: `must fit into ${quoteValue(params["format"])}` };
    default:
      return { path, message };
  }
}

/** `/workloads/0/name` as `spec.workloads[0].name`. */
function pathOf(pointer: string): string {
  const parts = tokensOf(pointer);
  return below("spec", ...parts.map((part) => (/^\d{1,6}$/.test(part) ? Number(part) : part)));
}

interface Measure {
  readonly bytes: number;
  /** Elements of all lists. */
  readonly items: number;
  readonly values: number;
  readonly depth: number;
}

/** Measures JSON without recursion, and stops beyond `maxValues`. `managedFields` do not count, since no user writes them. */
function measure(json: unknown, maxValues: number): Measure {
  const found = { bytes: 0, items: 0, values: 0, depth: 0 };
  const rest: (readonly [value: unknown, depth: number])[] = [[json, 1]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [value, depth] = next;
    found.values += 1;
    if (found.values > maxValues) break;
    if (typeof value === "string") found.bytes += value.length;
    if (typeof value !== "object" || value === null) continue;
    found.depth = Math.max(found.depth, depth);
    if (Array.isArray(value)) {
      found.items += value.length;
      for (const entry of value) rest.push([entry, depth + 1]);
      continue;
    }
    for (const [key, entry] of Object.entries(value)) {
      found.bytes += key.length + 4;
      if (key !== "managedFields") rest.push([entry, depth + 1]);
    }
  }
  return found;
}

/** Security: T-62. */
const most: Measure = { bytes: 1024 * 1024, items: 4_096, values: 16_384, depth: 64 };

/** What is too large about an object: more than 1 MiB, 4,096 elements in its lists or 16,384 values, or nested deeper than 64. */
export function sizeProblems(object: Fields): readonly Problem[] {
  const { bytes, items, values, depth } = measure(object, most.values);
  return [
    ...problemIf(bytes > most.bytes, "spec", "must not be larger than 1 MiB"),
    ...problemIf(
      items > most.items,
      "spec",
      `must not hold more than ${most.items} list elements (holds ${items})`,
    ),
    ...problemIf(values > most.values, "spec", `must not hold more than ${most.values} values`),
    ...problemIf(depth > most.depth, "spec", `must not be nested deeper than ${most.depth} levels`),
  ];
}

// The worst spec below this limit takes some 60 ms to render. Real ones have a few hundred values.
const renderableValues = 8_000;

/** Whether rendering a spec could keep other reviews waiting. */
export function isHeavy(spec: Fields): boolean {
  return countValues(spec) > renderableValues;
}

/** How many values a spec has; counting stops where a spec is heavy. */
export function countValues(spec: Fields): number {
  return measure(spec, renderableValues).values;
}

/** The spec is compared with its release at admission. */
export const notRendered: Check = ({ spec }) =>
  problemIf(
    isHeavy(spec),
    "spec",
    "is too large to be held against the release now; that happens when it is installed",
  );
