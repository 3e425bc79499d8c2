import { describe, expect, test } from "vitest";

import { parseUserManifest } from "../../../render/release/user-manifests.ts";

const url = "https://files.example.com/a.yaml";
const map = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

const anchors = ["a", "b", "c", "d", "e", "f", "g"];
const laughs = anchors
  .map((name, index) => `${name}: &${name} [${`*${anchors[index - 1]}, `.repeat(10)}]`)
  .join("\n")
  .replaceAll("*undefined", "x");

async function namesIn(text: string): Promise<readonly (string | undefined)[]> {
  return (await parseUserManifest(url, text)).map(({ metadata }) => metadata.name);
}

describe("a manifest of a user", () => {
  test.each([
    { name: "nothing", text: "", names: [] },
    { name: "comments only", text: "# nothing\n---\n---\n", names: [] },
    {
      name: "several documents",
      text: `${map("config-a")}---\n---\n${map("config-b")}`,
      names: ["config-a", "config-b"],
    },
    {
      name: "JSON",
      text: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}',
      names: ["a"],
    },
    {
      name: "a list",
      text: `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n`,
      names: ["a"],
    },
    {
      name: "a few aliases",
      text: `${map("config-a")}data: {a: &a x, b: *a}\n`,
      names: ["config-a"],
    },
    {
      name: "a Job with a generated name",
      text: "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n",
      names: [undefined],
    },
    {
      name: "a name that only RBAC allows",
      text: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'a:B'}\n",
      names: ["a:B"],
    },
  ])("may be $name", async ({ text, names }) => {
    expect(await namesIn(text)).toEqual(names);
  });

  test("is read as YAML 1.1, with times as text", async () => {
    const text = `${map("config-a")}data: {a: 0644, b: yes, c: off, d: 2020-01-02, e: 1:30}\n`;
    expect(await parseUserManifest(url, text)).toMatchObject([
      { data: { a: 0o644, b: true, c: false, d: "2020-01-02", e: "1:30" } },
    ]);
  });

  test.each(["!!binary aGk=", "!!set {b}", "!!omap [b: 1]", "!!timestamp 2020-01-02"])(
    "may not hold %s",
    async (value) => {
      const read = parseUserManifest(url, `${map("config-a")}data: {a: ${value}}\n`);
      await expect(read).rejects.toThrow("custom tag");
    },
  );

  test.each([
    { name: "broken YAML", text: "a: [", problem: "document 1, is not valid YAML" },
    { name: "a repeated key", text: `${map("config-a")}kind: B\n`, problem: "not valid YAML" },
    { name: "no object", text: "just text", problem: "is not a Kubernetes object" },
    { name: "a page of HTML", text: "<html></html>", problem: "is not a Kubernetes object" },
    {
      name: "no name",
      text: "apiVersion: v1\nkind: Secret\nmetadata: {}\n",
      problem: "valid name",
    },
    { name: "a path as a name", text: map("'../config-b'"), problem: "valid name" },
    { name: "dots as a name", text: map("'..'"), problem: "valid name" },
    {
      name: "a query in a kind",
      text: map("config-a").replace("ConfigMap", "A?b"),
      problem: "object",
    },
    {
      name: "a path in a version",
      text: map("config-a").replace("v1", "a/../v1"),
      problem: "object",
    },
    {
      name: "a generated name that is not a Job's",
      text: "apiVersion: v1\nkind: Secret\nmetadata: {generateName: a-}\n",
      problem: "valid name",
    },
    {
      name: "a generated name of a Job that is not Kubernetes' own",
      text: "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {generateName: a-}\n",
      problem: "valid name",
    },
    {
      name: "labels that are no texts",
      text: "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {a: 1}}\n",
      problem: "is not a Kubernetes object",
    },
    {
      name: "a custom tag",
      text: `${map("config-a")}data: !secret {a: b}\n`,
      problem: "custom tag",
    },
    {
      name: "a merge key",
      text: `${map("config-a")}data:\n  x: &x {a: b}\n  y:\n    <<: *x\n`,
      problem: "merge key",
    },
    {
      name: "a field that is none in JavaScript",
      text: `${map("config-a")}data: {__proto__: {a: b}}\n`,
      problem: "__proto__",
    },
    { name: "a billion laughs", text: laughs, problem: "more than 100 aliases" },
    { name: "65 levels", text: `${map("config-a")}data: ${nested(64)}\n`, problem: "64 levels" },
    { name: "a tower of lists", text: nested(20_000), problem: "is not valid YAML" },
    {
      name: "an object above 1.5 MiB",
      text: `${map("config-a")}data: {a: ${"x".repeat(1.5 * 1024 * 1024)}}\n`,
      problem: "larger than 1.5 MiB",
    },
    {
      name: "more than 8 MiB",
      text: "#".repeat(8 * 1024 * 1024 + 1),
      problem: "larger than 8 MiB",
    },
    {
      name: "600,001 parts",
      text: "\n".repeat(1024 * 1024),
      problem: "holds more than 600000 parts",
    },
    {
      name: "a key twice",
      text: `${map("config-a")}data: {a: b, "a": c}\n`,
      problem: "a key occurs twice",
    },
    { name: "2001 documents", text: "---\n".repeat(2_001), problem: "more than 2000 documents" },
    {
      name: "a list in a list",
      text: "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: []}]\n",
      problem: "a List that holds a List",
    },
    {
      name: "a list without items",
      text: "apiVersion: v1\nkind: List\n",
      problem: "a List without items",
    },
  ])("T-32 must not be $name", async ({ text, problem }) => {
    await expect(parseUserManifest(url, text)).rejects.toMatchObject({
      name: "FleetError",
      reason: "ManifestInvalid",
      message: expect.stringMatching(new RegExp(`^Manifest .*${problem}`)),
    });
  });

  test("may have 50,000 keys, which are looked at in one go", async () => {
    const before = process.threadCpuUsage();
    const keys = Array.from({ length: 50_000 }, (_, index) => `  k${index}: v\n`);
    const text = `${map("config-a")}data:\n${keys.join("")}`;
    const [manifest] = await parseUserManifest(url, text);
    expect(Object.keys(Object(manifest?.["data"]))).toHaveLength(50_000);
    // About a second, and half a minute where each key is compared with all others.
    expect(process.threadCpuUsage(before).user).toBeLessThan(8_000_000);
  }, 120_000);

  test("may hold a long text, which is one part", async () => {
    const text = `${map("config-a")}data:\n  a: |\n${"    {}\n".repeat(100_000)}`;
    expect(await parseUserManifest(url, text)).toHaveLength(1);
  });

  test("is named with its document", async () => {
    await expect(parseUserManifest(url, `${map("config-a")}---\nkind: A\n`)).rejects.toThrow(
      `Manifest ${url}, document 2, is not a Kubernetes object`,
    );
  });

  test("cannot be changed afterwards", async () => {
    const [manifest] = await parseUserManifest(url, map("config-a"));
    expect(Object.isFrozen(manifest?.metadata)).toBe(true);
  });
});
