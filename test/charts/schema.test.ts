import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { isRecord, valueAt } from "../fleet/json-record.ts";
import { chartFolder, type Values } from "./helm.ts";
import { listAt } from "./rendered.ts";

const read = (name: string) => readFileSync(join(chartFolder, name), "utf8");
const schema: unknown = JSON.parse(read("values.schema.json"));
const defaults: unknown = parse(read("values.yaml"));
if (!isRecord(schema)) throw new Error("There is no schema");
const valid = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true }).compile(schema);

interface Place {
  readonly path: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The schema itself and every one in it, with the path of the values that it is for. */
function placesIn(inner: unknown, path: string): readonly Place[] {
  if (!isRecord(inner)) return [];
  const properties = isRecord(inner["properties"]) ? Object.entries(inner["properties"]) : [];
  return [
    { path, schema: inner },
    ...properties.flatMap(([name, one]) => placesIn(one, path === "" ? name : `${path}.${name}`)),
    ...placesIn(inner["items"], `${path}[]`),
  ];
}

const places = placesIn(schema, "");

/** Whether the chart does not work without a value: it is a section, or not empty by default. */
function isNeeded(path: string, inner: unknown): boolean {
  const value = valueAt(defaults, ...path.split("."));
  if (isRecord(valueAt(inner, "properties"))) return true;
  return value !== undefined && value !== "" && typeof value !== "object";
}

describe("values.schema.json", () => {
  test("accepts the values of the chart", () => {
    valid(defaults);
    expect(valid.errors).toBeNull();
  });

  test.each(places.filter((place) => place.schema["type"] === "object"))(
    "is closed at '$path', or says whose it is",
    (place) => {
      const { additionalProperties: more, $comment } = place.schema;
      const isClosed = more === false && $comment === undefined;
      const isForeign = more === undefined && $comment !== undefined;
      // Such as labels.
      const isMap = valueAt(more, "type") === "string" && valueAt(more, "maxLength") !== undefined;
      expect([isClosed, isForeign, isMap].filter(Boolean)).toHaveLength(1);
    },
  );

  test.each(places.filter(({ path }) => path !== "" && !path.endsWith("[]")))(
    "says in a sentence what $path is",
    (place) => {
      expect(place.schema["description"]).toMatch(/^.{5,}\.$/s);
    },
  );

  test.each(
    places.filter(({ schema: { pattern } }) => typeof pattern === "string" && /[+*]/.test(pattern)),
  )("looks at the length of $path before its pattern", (place) => {
    expect(place.schema["maxLength"]).toBeLessThanOrEqual(2_048);
  });

  test("has a default for every value that is not in a list, and no default is unknown", () => {
    const wanted = places
      .map(({ path }) => path)
      .filter((path) => path !== "" && path !== "global" && !path.includes("[]"));
    const missing = wanted.filter((path) => valueAt(defaults, ...path.split(".")) === undefined);
    expect(missing).toEqual([]);
  });

  test("asks for every section, and for every value that is not empty by default, which null would take away", () => {
    for (const { path, schema: place } of places) {
      if (path.includes("[]") || !isRecord(place["properties"])) continue;
      const needed = Object.entries(place["properties"])
        .filter(([name, inner]) => isNeeded(path === "" ? name : `${path}.${name}`, inner))
        .map(([name]) => name);
      expect([path, new Set(listAt(place, "required"))]).toEqual([path, new Set(needed)]);
    }
  });

  test.each<{ readonly values: Values; readonly where: string }>([
    { values: { replicas: 2 }, where: "" },
    { values: { knative_operator: {} }, where: "" },
    { values: { controller: { replica: 2 } }, where: "/controller" },
    { values: { controller: { replicas: "two" } }, where: "/controller/replicas" },
    { values: { controller: { anchorProtection: "Yes" } }, where: "/controller/anchorProtection" },
    {
      values: { webhook: { certificates: { source: "self" } } },
      where: "/webhook/certificates/source",
    },
    { values: { webhook: { timeoutSeconds: 31 } }, where: "/webhook/timeoutSeconds" },
    { values: { multicluster: { plugin: [] } }, where: "/multicluster" },
    { values: { multicluster: { plugins: [{ name: "a" }] } }, where: "/multicluster/plugins/0" },
    {
      values: { multicluster: { plugins: [{ name: "a", image: "b", mountPath: "c" }] } },
      where: "/multicluster/plugins/0/mountPath",
    },
    { values: { guard: { hubs: [{ id: "a", user: "b" }] } }, where: "/guard/hubs/0/id" },
    { values: { image: { digest: "sha256:1" } }, where: "/image/digest" },
    { values: { manifestSources: ["http://a/"] }, where: "/manifestSources/0" },
    {
      values: { networkPolicy: { spokeCIDRs: ["10.0.0.1"] } },
      where: "/networkPolicy/spokeCIDRs/0",
    },
  ])("refuses $values", ({ values, where }) => {
    expect(valid(values)).toBe(false);
    expect(valid.errors?.map(({ instancePath }) => instancePath)).toContain(where);
  });
});
