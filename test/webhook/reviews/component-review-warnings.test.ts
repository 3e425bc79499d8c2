import { describe, expect, test } from "vitest";

import { fileOf, linesOf, profileOf, review, written } from "../component-stage.ts";

const podSecurity = (level: string) => ({
  namespace: { labels: { "pod-security.kubernetes.io/enforce": level } },
});
const at = (name: string) => ({ clusterProfileRef: { namespace: "fleet", name } });

describe("T-60 names", () => {
  test.each([
    ["KnativeServing", 228, "422 metadata.name: must be at most 227 characters (has 228)"],
    ["KnativeEventing", 227, "422 metadata.name: must be at most 226 characters (has 227)"],
  ])("%s with %i characters", async (kind, length, line) => {
    const lines = linesOf(await review(written({}, { kind, name: "a".repeat(length) })));
    expect(lines).toEqual([expect.stringContaining(line)]);
  });

  test.each([
    ["KnativeServing", 227],
    ["KnativeEventing", 226],
  ])("%s with %i characters fits", async (kind, length) => {
    expect(linesOf(await review(written({}, { kind, name: "a".repeat(length) })))).toEqual([]);
  });
});

describe("T-61 labels and annotations of the Namespace", () => {
  test.each([
    [{ labels: { "bad key": "a" } }, "the name of the key"],
    [{ labels: { a: "x".repeat(64) } }, "the value must be at most 63"],
    [{ labels: { "app.kubernetes.io/managed-by": "me" } }, "is set by knfleet itself"],
    [{ labels: { "pod-security.kubernetes.io/enforce": "privileged" } }, "must not relax"],
    [{ labels: { "operator.knative.dev/anchor-namespace": "x" } }, "is set by knfleet itself"],
    [{ annotations: { a: "x".repeat(257 * 1024) } }, "256 KiB"],
    [{ annotations: { "a/b/c": "x" } }, "the name of the key"],
  ])("%#", async (settings, text) => {
    for (const field of ["namespace", "namespaceConfiguration"]) {
      const lines = linesOf(await review(written({ [field]: settings })));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(new RegExp(`^422 spec\\.${field}\\.`));
      expect(lines[0]).toContain(text);
    }
  });

  test("restricted may not become baseline, and baseline may become restricted", async () => {
    expect(
      linesOf(
        await review(written(podSecurity("baseline"), { before: podSecurity("restricted") })),
      )[0],
    ).toContain("relax");
    expect(
      linesOf(
        await review(written(podSecurity("restricted"), { before: podSecurity("baseline") })),
      ),
    ).toEqual([]);
  });
});

describe("T-62 sizes", () => {
  const deep = Array.from({ length: 70 }).reduce<object>((inner) => ({ a: inner }), {});
  test.each([
    ["1 MiB", { config: { a: { b: "x".repeat(1024 * 1024) } } }],
    ["4096 list elements", { workloads: Array.from({ length: 4_097 }, () => ({ name: "a" })) }],
    [
      "16,384 values",
      {
        config: { a: Object.fromEntries(Array.from({ length: 16_400 }, (_, i) => [`k${i}`, "a"])) },
      },
    ],
    ["64 levels", { deep }],
  ])("more than %s is refused", async (_what, spec) => {
    const { violations } = await review(written(spec));
    expect(violations.map(({ rule, code }) => [rule, code])).toEqual([["size", 422]]);
  });
});

describe("warnings", () => {
  const going = profileOf("going");
  const deletionTimestamp = "2026-11-25T11:00:00Z";
  const leaving = { ...going, metadata: { ...going.metadata, deletionTimestamp } };
  const stage = {
    profiles: [profileOf("spoke-1"), profileOf("ill", "False"), leaving],
    files: [{ map: "providers", file: fileOf("secretreader") }],
  };

  test("none for a cluster that can be used", async () => {
    expect(await review(written(at("spoke-1")), stage)).toEqual({ violations: [], warnings: [] });
  });

  test.each([
    ["a profile that does not exist", at("gone"), /"fleet\/gone" does not exist yet/],
    ["a profile that is not ready", at("ill"), /"fleet\/ill" is not ready/],
    [
      "a profile that is being deleted",
      at("going"),
      /: ClusterProfile fleet\/going is being deleted since 2026-11-25T11:00:00Z, and a finalizer holds it$/,
    ],
    [
      "deployments",
      { deployments: [{ name: "a" }] },
      /^spec\.deployments: deprecated: use spec\.workloads/,
    ],
    ["resources", { resources: [{ container: "a" }] }, /^spec\.resources: deprecated/],
    [
      "one image",
      { registry: { default: "example.com/a" } },
      /^spec\.registry\.default: without \$\{NAME\}/,
    ],
    ["no ingress", { ingress: {} }, /^spec\.ingress: no ingress is enabled/],
    [
      "two settings",
      { namespace: { labels: { a: "b" } }, namespaceConfiguration: { labels: { a: "c" } } },
      /wins/,
    ],
  ])("%s", async (_what, spec, text) => {
    const ruling = await review(written(spec), stage);
    expect(ruling.violations).toEqual([]);
    expect(ruling.warnings).toEqual([expect.stringMatching(text)]);
  });

  test("a word of Eventing that nobody knows", async () => {
    const ruling = await review(
      written({ sinkBindingSelectionMode: "some" }, { kind: "KnativeEventing" }),
    );
    expect(ruling.warnings).toEqual([expect.stringContaining("inclusion and exclusion")]);
  });

  test("a provider that no entry serves, and a plugin that is missing", async () => {
    const other = { ...stage, files: [{ map: "providers", file: fileOf("other") }] };
    expect((await review(written(at("spoke-1")), other)).warnings).toEqual([
      expect.stringContaining('offers the providers "secretreader", the provider file has "other"'),
    ]);
    expect((await review(written(at("spoke-1")), { ...stage, pluginRoots: [] })).warnings).toEqual([
      'spec.clusterProfileRef: the plugin of provider "secretreader" is missing, or cannot be executed',
    ]);
  });
});
