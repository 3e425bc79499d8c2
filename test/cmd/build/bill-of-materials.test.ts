import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { packagesIn } from "../../../cmd/build/build.ts";
import { bundle } from "../../../cmd/build/bundle.ts";
import { sbomOf } from "../../../cmd/build/sbom.ts";
import { valueAt } from "../../fleet/json-record.ts";

const root = resolve(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(resolve(root, path), "utf8");
const sources = {
  lock: read("package-lock.json"),
  releases: read("releases.lock.json"),
  dockerfile: read("Dockerfile"),
  bundled: packagesIn(await bundle(root)),
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

  test("has every package of which something is bundled once, and no other", () => {
    const { packages } = JSON.parse(sources.lock);
    const wanted = sources.bundled.map((path) => {
      const name = path.slice(path.lastIndexOf("node_modules/") + 13).replace("@", "%40");
      return `pkg:npm/${name}@${String(valueAt(packages, path, "version"))}`;
    });
    const found = refs.filter((ref) => ref.startsWith("pkg:npm/"));
    expect(new Set(found)).toEqual(new Set(wanted));
    expect(found.length).toBe(new Set(found).size);
    expect(found.some((ref) => ref.startsWith("pkg:npm/undici@"))).toBe(true);
    // What is only for development is not in the bundle; what is bundled is checked as what runs.
    const bundledForDevelopment = sources.bundled.filter(
      (path) => valueAt(packages, path, "dev") === true,
    );
    expect(bundledForDevelopment).toEqual([]);
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

  test("a package without a hash, or that nobody knows, is told", () => {
    const lock = JSON.stringify({ packages: { "node_modules/a": { version: "1.0.0" } } });
    const of =
      (...bundled: readonly string[]) =>
      () =>
        sbomOf({ ...sources, lock, bundled });
    expect(of("node_modules/a")).toThrow("no SHA-512 of node_modules/a");
    expect(of("node_modules/b")).toThrow("package-lock.json has no node_modules/b");
  });
});
