import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { sbomOf } from "../../cmd/bill-of-materials.ts";
import { valueAt } from "../fleet/json-record.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(resolve(root, path), "utf8");
const sources = {
  lock: read("package-lock.json"),
  releases: read("releases.lock.json"),
  dockerfile: read("Dockerfile"),
};

function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

describe("the bill of materials", () => {
  const bill = sbomOf(sources);
  const components = listAt(bill, "components");
  const refs = components.map((one) => String(valueAt(one, "bom-ref")));

  test("is CycloneDX 1.6, and the same for the same image", () => {
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 });
    expect(valueAt(bill, "serialNumber")).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(sbomOf(sources)).toEqual(bill);
  });

  test("has every package that runs in the image once, and none of those for development", () => {
    const { packages } = JSON.parse(sources.lock);
    const runtime = Object.entries(packages).filter(
      ([path, entry]) => path !== "" && valueAt(entry, "dev") !== true,
    );
    const wanted = runtime.map(([path, entry]) => {
      const name = path.slice(path.lastIndexOf("node_modules/") + 13).replace("@", "%40");
      return `pkg:npm/${name}@${String(valueAt(entry, "version"))}`;
    });
    const found = refs.filter((ref) => ref.startsWith("pkg:npm/"));
    expect(new Set(found)).toEqual(new Set(wanted));
    expect(found.length).toBe(new Set(found).size);
    expect(found.some((ref) => ref.includes("/vitest@"))).toBe(false);
  });

  test("has Node and every release file with its hash", () => {
    expect(refs).toContain("pkg:generic/node@24.21.0");
    const releases = components.find((one) => valueAt(one, "name") === "knative-releases");
    expect(listAt(releases, "components")).toHaveLength(JSON.parse(sources.releases).files.length);
  });

  test("names no dependency that it does not list", () => {
    const known = new Set([...refs, String(valueAt(bill, "metadata", "component", "bom-ref"))]);
    const dependencies = listAt(bill, "dependencies");
    const named = dependencies.flatMap((one) => [valueAt(one, "ref"), ...listAt(one, "dependsOn")]);
    expect(named.filter((ref) => !known.has(String(ref)))).toEqual([]);
    // Every package is needed by something.
    const needed = new Set(dependencies.flatMap((one) => listAt(one, "dependsOn")));
    expect(refs.filter((ref) => !needed.has(ref))).toEqual([]);
  });

  test("a package without a hash is told", () => {
    const lock = JSON.stringify({ packages: { "node_modules/a": { version: "1.0.0" } } });
    expect(() => sbomOf({ ...sources, lock })).toThrow("no SHA-512 of node_modules/a");
  });
});
