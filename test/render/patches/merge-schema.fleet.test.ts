import { beforeAll, expect, test } from "vitest";

import { isRecord, listAt, recordAt, textAt } from "../../../api/fields.ts";
import { groupOf } from "../../../api/kubernetes.ts";
import {
  mergeKinds,
  type MergeRule,
  mergeRule,
  mergeTypeOf,
} from "../../../render/patches/merge-schema.ts";
import { PatchProblem } from "../../../render/patches/patch.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";

type Fields = Readonly<Record<string, unknown>>;

const fleet = useSpokes([{ kwok: false }]);
const kinds = mergeKinds().filter(([apiVersion]) => !apiVersion.startsWith("caching."));
// Types of these are written as texts or numbers, or are never patched.
const scalars = /\.(?:Quantity|IntOrString|Time|MicroTime)$/;
const unpatched = new Set(["apiVersion", "kind", "status", "managedFields"]);

let definitions: Fields;

beforeAll(async () => {
  const document = await fleet().spoke(0).admin.request("GET", "/openapi/v2");
  definitions = recordAt(document, "definitions");
});

function definitionOf(apiVersion: string, kind: string): Fields {
  const version = apiVersion.split("/").at(-1);
  const found = Object.values(definitions).find((definition) =>
    listAt(recordAt(definition), "x-kubernetes-group-version-kind").some((one) => {
      const { group, ...rest } = recordAt(one);
      return group === groupOf(apiVersion) && rest["version"] === version && rest["kind"] === kind;
    }),
  );
  return recordAt(found);
}

function referredBy(property: Fields): Fields | undefined {
  const name = textAt(property, "$ref")?.split("/").at(-1);
  return name === undefined || scalars.test(name) ? undefined : recordAt(definitions[name]);
}

/** Where the table differs from what the server publishes of a type and of all types below it. */
function differencesOf(type: string, definition: Fields, done: Set<string>): readonly string[] {
  if (done.has(type)) return [];
  done.add(type);
  return Object.entries(recordAt(definition["properties"])).flatMap(([field, value]) => {
    const property = recordAt(value);
    if (unpatched.has(field)) return [];
    const rule = ruleOf(type, field);
    const expected = expectedRule(property);
    const below = referredBy(property) ?? referredBy(recordAt(property["items"]));
    const isKnown = rule?.kind === "map" || rule?.kind === "items";
    return [
      ...(describe(rule) === expected
        ? []
        : [`${type}.${field} is ${describe(rule)}, the server says ${expected}`]),
      ...(isKnown && rule.type !== "leaf" && below !== undefined
        ? differencesOf(rule.type, below, done)
        : []),
    ];
  });
}

function ruleOf(type: string, field: string): MergeRule | undefined {
  try {
    return mergeRule(type, field);
  } catch (error) {
    if (error instanceof PatchProblem) return undefined;
    throw error;
  }
}

function describe(rule: MergeRule | undefined): string {
  if (rule === undefined) return "no map or list";
  return rule.kind === "items" ? `merged by ${rule.key}` : rule.kind;
}

function expectedRule(property: Fields): string {
  const strategies = textAt(property, "x-kubernetes-patch-strategy")?.split(",") ?? [];
  const key = textAt(property, "x-kubernetes-patch-merge-key");
  if (property["type"] === "array") {
    if (!strategies.includes("merge")) return "atomic";
    return key === undefined ? "union" : `merged by ${key}`;
  }
  const isMap = property["type"] === "object" || isMapDefinition(referredBy(property));
  if (!isMap) return "no map or list";
  return strategies.includes("replace") ? "atomic" : "map";
}

function isMapDefinition(definition: Fields | undefined): boolean {
  return (
    isRecord(definition) &&
    (definition["properties"] !== undefined || definition["type"] === "object")
  );
}

test("the table of merge keys is what an API server publishes", () => {
  const done = new Set<string>();
  const differences = kinds.flatMap(([apiVersion, kind]) => {
    const type = mergeTypeOf(apiVersion, kind);
    const definition = definitionOf(apiVersion, kind);
    if (type === undefined || definition["properties"] === undefined) {
      return [`${apiVersion} ${kind} is not published`];
    }
    return differencesOf(type, definition, done);
  });
  expect(differences).toEqual([]);
  expect(done.size).toBeGreaterThan(100);
});
