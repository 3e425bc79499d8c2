import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import type { ComponentKind } from "../../../api/component.ts";
import { isRecord, listAt, recordAt } from "../../../api/fields.ts";
import { crdOf } from "../../../api/schema/component-crd.ts";
import { releaseDir } from "../../e2e/release-dir.ts";
import { patchVectors } from "../../vectors/render-cases.ts";

const kinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];

// Upstream has them since its version 1.24.
const patches = [
  "+ .spec.patches array",
  "+ .spec.patches[] object",
  "+ .spec.patches[].patch object required",
  '+ .spec.patches[].patch.content string {"minLength":1} required',
  '+ .spec.patches[].patch.type string {"enum":["json","merge","strategic"]} required',
  "+ .spec.patches[].target object required",
  '+ .spec.patches[].target.apiVersion string {"minLength":1} required',
  '+ .spec.patches[].target.kind string {"minLength":1} required',
  '+ .spec.patches[].target.name string {"minLength":1} required',
  "+ .spec.patches[].target.namespace string",
];

/** What knfleet's CRDs have and upstream's have not, or the other way round, on purpose. */
const differences: Readonly<Record<ComponentKind, readonly string[]>> = {
  KnativeServing: [
    "+ .spec.namespaceConfiguration object",
    "+ .spec.namespaceConfiguration.annotations object",
    "+ .spec.namespaceConfiguration.annotations{} string",
    "+ .spec.namespaceConfiguration.labels object",
    "+ .spec.namespaceConfiguration.labels{} string",
    ...patches,
  ],
  // D-42: all six sources and their switches were required as soon as there was one.
  KnativeEventing: [
    "+ .spec.namespaceConfiguration object",
    "+ .spec.namespaceConfiguration.annotations object",
    "+ .spec.namespaceConfiguration.annotations{} string",
    "+ .spec.namespaceConfiguration.labels object",
    "+ .spec.namespaceConfiguration.labels{} string",
    ...patches,
    ...["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"].flatMap((source) => [
      `+ .spec.source.${source} object`,
      `+ .spec.source.${source}.enabled boolean`,
      `- .spec.source.${source} object required`,
      `- .spec.source.${source}.enabled boolean required`,
    ]),
  ],
};

describe.each(kinds)("the CRD of %s", (kind) => {
  test("has upstream's schema of patches, word for word", { tags: ["recordings"] }, async () => {
    const text = await readFile(join(patchVectors, "patches-schema.json"), "utf8");
    const schema: unknown = JSON.parse(text);
    const [served] = listAt(recordAt(crdOf(kind), "spec"), "versions");
    const spec = recordAt(served, "schema", "openAPIV3Schema", "properties", "spec");
    expect(recordAt(spec, "properties")["patches"]).toEqual(schema);
  });

  test("describes every field", () => {
    const fields = fieldsOf(crdOf(kind)).filter(({ path }) => /^\.(?:spec|status)/.test(path));
    const undescribed = fields.filter(
      ({ path, described }) => !described && !/(?:\[\]|\{\})$/.test(path),
    );
    expect(undescribed.map(({ path }) => path)).toEqual([]);
    expect(fields.length).toBeGreaterThan(400);
  });

  test("is namespaced and needs no conversion webhook", () => {
    const own = crdOf(kind);
    expect(at(own, ["spec", "scope"])).toBe("Namespaced");
    expect(at(own, ["spec", "conversion"])).toBeUndefined();
  });

  test("shows version, readiness, reason, cluster and age in kubectl get", () => {
    const columns = at(version(crdOf(kind)), ["additionalPrinterColumns"]);
    expect(Array.isArray(columns) && columns.map((column) => at(column, ["name"]))).toEqual([
      "Version",
      "Ready",
      "Reason",
      "Target Cluster",
      "Age",
    ]);
  });
});

describe.each(kinds)("the CRD of %s beside upstream's", { tags: ["release-files"] }, (kind) => {
  test("has every field with its type and whether it is required", async () => {
    const ours = linesOf(crdOf(kind));
    const theirs = linesOf(await upstream(kind));
    const added = ours.filter((line) => !theirs.includes(line)).map((line) => `+ ${line}`);
    const lost = theirs.filter((line) => !ours.includes(line)).map((line) => `- ${line}`);
    expect([...added, ...lost].toSorted()).toEqual(differences[kind].toSorted());
  });

  test("has the same names", async () => {
    const own = crdOf(kind);
    const other = await upstream(kind);
    for (const path of [
      ["metadata", "name"],
      ["spec", "group"],
      ["spec", "names"],
    ]) {
      expect(at(own, path)).toEqual(at(other, path));
    }
    for (const path of [["name"], ["served"], ["storage"], ["subresources"]]) {
      expect(at(version(own), path)).toEqual(at(version(other), path));
    }
  });

  test("refuses changes of the reference with upstream's words", async () => {
    const own = messages(crdOf(kind), []);
    expect(own).toHaveLength(2);
    expect(own).toEqual(messages(await upstream(kind), ["properties", "spec"]));
  });
});

function messages(crd: unknown, path: readonly string[]): unknown {
  const rules = at(version(crd), [
    "schema",
    "openAPIV3Schema",
    ...path,
    "x-kubernetes-validations",
  ]);
  return Array.isArray(rules) && rules.map((rule) => at(rule, ["message"]));
}

async function upstream(kind: ComponentKind): Promise<unknown> {
  const name = `crds/upstream/operator.knative.dev_${kind.toLowerCase()}s.yaml`;
  return parse(await readFile(join(await releaseDir(), name), "utf8"));
}

function version(crd: unknown): unknown {
  const versions = at(crd, ["spec", "versions"]);
  return Array.isArray(versions) ? versions[0] : undefined;
}

function at(value: unknown, path: readonly string[]): unknown {
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

function linesOf(crd: unknown): readonly string[] {
  return fieldsOf(crd).map(
    ({ path, facts, required }) => `${path} ${facts}${required ? " required" : ""}`,
  );
}

function fieldsOf(crd: unknown): readonly Field[] {
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
