import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { ComponentKind } from "../../../api/component.ts";
import { listAt, recordAt } from "../../../api/fields.ts";
import { crdOf } from "../../../api/schema/component-crd.ts";
import { patchVectors } from "../../vectors/render-cases.ts";
import { at, fieldsOf, version } from "./crd-shape.ts";

const kinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];

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
