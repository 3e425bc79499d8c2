import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { packagesIn } from "../../../cmd/build/build.ts";
import { readNpmBill, sbomOf } from "../../../cmd/build/sbom.ts";
import { bundleOfRun } from "../../build/bundle-of-run.ts";
import { valueAt } from "../../fleet/json-record.ts";

const root = resolve(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(resolve(root, path), "utf8");
const sources = {
  npmBill: await readNpmBill(),
  lock: JSON.parse(read("package-lock.json")),
  releases: JSON.parse(read("releases.lock.json")),
  dockerfile: read("Dockerfile"),
  bundled: packagesIn(await bundleOfRun()),
};

function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

describe("the bill of materials", () => {
  const bill = sbomOf(sources);
  const components = listAt(bill, "components");
  const refs = components.map((one) => String(valueAt(one, "bom-ref")));

  test("is CycloneDX, and the same for the same image", async () => {
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.5", version: 1 });
    expect(valueAt(bill, "metadata", "component")).toMatchObject({
      type: "application",
      name: "knfleet",
    });
    const again = sbomOf({ ...sources, npmBill: await readNpmBill() });
    expect(JSON.stringify(again)).toBe(JSON.stringify(bill));
  });

  test("has every package of which something is bundled once, and no other", () => {
    const { packages } = sources.lock;
    const wanted = sources.bundled.map((path) => {
      const name = path.slice(path.lastIndexOf("node_modules/") + 13).replace("@", "%40");
      return `pkg:npm/${name}@${String(valueAt(packages, path, "version"))}`;
    });
    const urls = components.map((one) => String(valueAt(one, "purl")));
    const found = urls.filter((url) => url.startsWith("pkg:npm/"));
    expect(new Set(found)).toEqual(new Set(wanted));
    expect(found.length).toBe(new Set(found).size);
    expect(found.some((url) => url.startsWith("pkg:npm/undici@"))).toBe(true);
    // What is only for development is not in the bundle; what is bundled is checked as what runs.
    const bundledForDevelopment = sources.bundled.filter(
      (path) => valueAt(packages, path, "dev") === true,
    );
    expect(bundledForDevelopment).toEqual([]);
  });

  test("has Node and every release file with its hash", () => {
    expect(refs).toContain("pkg:generic/node@24.21.0");
    const releases = components.find((one) => valueAt(one, "name") === "knative-releases");
    expect(listAt(releases, "components")).toHaveLength(sources.releases.files.length);
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

  test("every package has its SHA-512 and its licence", () => {
    const found = components.filter((one) => String(valueAt(one, "purl")).startsWith("pkg:npm/"));
    expect(found.length).toBeGreaterThan(10);
    for (const one of found) {
      expect(valueAt(one, "hashes", 0)).toMatchObject({ alg: "SHA-512" });
      expect(listAt(one, "licenses")).toHaveLength(1);
    }
  });

  test("a bundled package that npm does not list is told", () => {
    expect(() => sbomOf({ ...sources, bundled: ["node_modules/b"] })).toThrow("does not list b@");
  });
});
