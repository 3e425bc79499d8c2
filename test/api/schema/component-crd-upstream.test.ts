// @module-tag release-files
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import type { ComponentKind } from "../../../api/component.ts";
import { crdOf } from "../../../api/schema/component-crd.ts";
import { releaseDir } from "../../e2e/release-dir.ts";
import { at, linesOf, version } from "./crd-shape.ts";

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

describe.each(kinds)("the CRD of %s beside upstream's", (kind) => {
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
