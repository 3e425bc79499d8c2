import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";

import { type Component, type ComponentKind, operatorApiVersion } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import {
  type KnativeEventingSpec,
  type KnativeServingSpec,
  eventingSpec,
  servingSpec,
} from "../../api/schema/component-spec.ts";
import { below, type Fields, type Problem, shown, type Check } from "./rule.ts";

/** A component of the right shape, or what is wrong with its shape. */
export type Shaped =
  | { readonly component: Component; readonly problems: readonly [] }
  | { readonly component: undefined; readonly problems: readonly Problem[] };

/** What makes a component of a spec. */
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
 * Holds specs to the schemas that the CRDs are made of, so that a component is understood also where another CRD let it in. Fields that they do not
 * have are no problem: the operator that is installed may know them.
 */
export function shaper(): (spec: Fields, place: Place) => Shaped {
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    // Compiling takes longer than what the result saves.
    code: { optimize: false },
    formats: { int32: rangeOf("int32"), int64: rangeOf("int64") },
  });
  const serving = ajv.compile<KnativeServingSpec>(plain(servingSpec));
  const eventing = ajv.compile<KnativeEventingSpec>(plain(eventingSpec));
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

function rangeOf(format: keyof typeof integerLimits) {
  const limit = integerLimits[format];
  return { type: "number", validate: (value: number) => value >= -limit && value < limit } as const;
}

/** The schema with a number or text as a union, so that a wrong value is one error and not three. */
function plain(schema: unknown): object {
  const fields = Object.entries(isRecord(schema) ? schema : {}).map(([key, value]) => [
    key,
    isRecord(value) ? plain(value) : value,
  ]);
  const { anyOf, ...rest }: Fields = Object.fromEntries(fields);
  if (rest["x-kubernetes-int-or-string"] !== true) {
    return anyOf === undefined ? rest : { ...rest, anyOf };
  }
  return { ...rest, type: ["integer", "string"] };
}

function problemsOf({ errors }: ValidateFunction): readonly Problem[] {
  return (errors ?? []).slice(0, maxProblems).map(problemOf);
}

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
      return { path, message: "must be a quantity such as 250m or 1Gi" };
    case "format":
      return { path, message: `must fit into ${shown(params["format"])}` };
    default:
      return { path, message };
  }
}

/** `/workloads/0/name` as `spec.workloads[0].name`. */
function pathOf(pointer: string): string {
  const parts = pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return below("spec", ...parts.map((part) => (/^\d{1,6}$/.test(part) ? Number(part) : part)));
}

/** Security: T-62. */
const sizeLimits = { bytes: 1024 * 1024, items: 4_096, values: 16_384, depth: 64 } as const;

/**
 * What is too large about an object, found without recursion: more than 1 MiB, more than 4,096 elements in its lists or 16,384 values,
 * nested deeper than 64. `managedFields` do not count, since nobody writes them.
 */
export function sizeProblems(object: Readonly<Record<string, unknown>>): readonly Problem[] {
  let items = 0;
  let bytes = 0;
  let values = 0;
  let deepest = 0;
  const rest: (readonly [value: unknown, depth: number])[] = [[object, 1]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [value, depth] = next;
    values += 1;
    // Beyond this nobody counts on: the rest is not looked at.
    if (values > sizeLimits.values) break;
    if (typeof value === "string") bytes += value.length;
    if (typeof value !== "object" || value === null) continue;
    deepest = Math.max(deepest, depth);
    if (Array.isArray(value)) {
      items += value.length;
      for (const entry of value) rest.push([entry, depth + 1]);
      continue;
    }
    for (const [key, entry] of Object.entries(value)) {
      bytes += key.length + 4;
      if (key !== "managedFields") rest.push([entry, depth + 1]);
    }
  }
  const found: readonly (readonly [boolean, string])[] = [
    [bytes > sizeLimits.bytes, "must not be larger than 1 MiB"],
    [
      items > sizeLimits.items,
      `must not hold more than ${sizeLimits.items} list elements (holds ${items})`,
    ],
    [values > sizeLimits.values, `must not hold more than ${sizeLimits.values} values`],
    [deepest > sizeLimits.depth, `must not be nested deeper than ${sizeLimits.depth} levels`],
  ];
  return found.flatMap(([isTooMuch, message]) => (isTooMuch ? [{ path: "spec", message }] : []));
}

// What the worst spec below this limit takes to render is some 60 ms. Real ones have a few hundred values.
const renderableValues = 8_000;

/** Whether rendering a spec could hold the process up. */
export function isHeavy(spec: Fields): boolean {
  return hasMoreThan(renderableValues, spec);
}

function hasMoreThan(limit: number, value: unknown): boolean {
  let count = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && count <= limit) {
    const next = rest.pop();
    count += 1;
    if (Array.isArray(next)) rest.push(...next.slice(0, limit + 1));
    else if (isRecord(next)) rest.push(...Object.values(next).slice(0, limit + 1));
  }
  return count > limit;
}

/** A spec that is not held against its release at admission. */
export const notRendered: Check = ({ spec }) =>
  isHeavy(spec)
    ? [
        {
          path: "spec",
          message:
            "is too large to be held against the release now; that happens when it is installed",
        },
      ]
    : [];
