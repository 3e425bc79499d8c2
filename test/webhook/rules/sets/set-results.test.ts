import { describe, expect, test } from "vitest";

import type { Component } from "../../../../api/component.ts";
import { openReleases } from "../../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../../cmd/release-files.ts";
import { componentProblems } from "../../../../webhook/rules/rendered/component-problems.ts";
import type { Fields, RenderCheck } from "../../../../webhook/rules/rule.ts";
import { resultsOf } from "../../../../webhook/rules/sets/set-results.ts";
import { linesOf } from "../../component-stage.ts";
import { goodSpec, prodProfile, reviewSet, writtenSet } from "./set-stage.ts";

const override = (name: string, patch: Fields, clusters = [`${name}-*`]) => ({
  name,
  clusters,
  patch,
});
const withOverrides = (...overrides: readonly object[]) => ({ ...goodSpec, overrides });
const withTemplate = (spec: object) => ({ ...goodSpec, template: { spec } });
const bad = { registry: { default: "no image" } };
const badLine = "must be an image reference";

const pdb = (fields: object) => ({
  podDisruptionBudgets: [{ name: "activator-pdb", ...fields }],
});

describe("each result is judged as a component", () => {
  test("the template alone, at its place", async () => {
    expect(linesOf(await reviewSet(writtenSet(withTemplate(bad))))).toEqual([
      expect.stringContaining(`422 spec.template.spec.registry.default: ${badLine}`),
    ]);
  });

  test("an override alone, at its place, whether or not a cluster has it", async () => {
    const spec = withOverrides(override("us", {}), override("eu", bad));
    for (const profiles of [[], [prodProfile("eu-1")]]) {
      expect(linesOf(await reviewSet(writtenSet(spec), { profiles }))).toEqual([
        expect.stringContaining(`422 spec.overrides[1].patch.registry.default: ${badLine}`),
      ]);
    }
  });

  test("a problem of the template is told once, however many overrides there are", async () => {
    const spec = {
      ...withTemplate(bad),
      overrides: [override("us", { version: "1.22" }), override("eu", { version: "1.23" })],
    };
    expect(linesOf(await reviewSet(writtenSet(spec)))).toHaveLength(1);
  });

  const ports = { ingress: { kourier: { enabled: true, "http-port": 30_080 } } };
  const nodePort = { ingress: { kourier: { "service-type": "NodePort" } } };

  test("what two overrides give together, where a cluster has both", async () => {
    const spec = withOverrides(
      override("node", nodePort, ["eu-1"]),
      {
        ...override("port", ports, ["eu-*"]),
        patch: { ingress: { kourier: { ...nodePort.ingress.kourier, ...ports.ingress.kourier } } },
      },
      override("balancer", { ingress: { kourier: { "service-type": "LoadBalancer" } } }, ["eu-1"]),
    );
    expect(linesOf(await reviewSet(writtenSet(spec)))).toEqual([]);
    const [line, ...others] = linesOf(
      await reviewSet(writtenSet(spec), { profiles: [prodProfile("eu-1")] }),
    );
    expect(others).toEqual([]);
    expect(line).toMatch(
      /^422 spec\.overrides\[2\]\.patch\.ingress\.kourier\.http-port: .*\(together with override "node", "port"\)$/,
    );
    expect(linesOf(await reviewSet(writtenSet(spec), { profiles: [prodProfile("eu-2")] }))).toEqual(
      [],
    );
  });

  test("a field of the template that an override makes wrong", async () => {
    const spec = {
      ...withTemplate(pdb({ minAvailable: 1 })),
      overrides: [override("eu", { "high-availability": { replicas: -1 } })],
    };
    expect(linesOf(await reviewSet(writtenSet(spec)))).toEqual([
      expect.stringContaining("422 spec.overrides[0].patch.high-availability.replicas"),
    ]);
  });

  test("the shape of a patch", async () => {
    const spec = withOverrides(override("eu", { "high-availability": "many" }));
    expect(linesOf(await reviewSet(writtenSet(spec)))).toEqual([
      "422 spec.overrides[0].patch.high-availability: must be object",
    ]);
  });

  test("a field that a value of the cluster decides is left to the cluster", async () => {
    const open = withTemplate({ registry: { default: "$(cluster.properties[registry])" } });
    expect(linesOf(await reviewSet(writtenSet(open)))).toEqual([]);
    const closed = withTemplate({
      registry: { default: "$(cluster.properties[registry]:-no image)" },
    });
    expect(linesOf(await reviewSet(writtenSet(closed)))).toEqual([
      expect.stringContaining(badLine),
    ]);
    const other = withTemplate({
      registry: { default: "$(cluster.name)/x" },
      ...pdb({ minAvailable: 1, maxUnavailable: 1 }),
    });
    expect(linesOf(await reviewSet(writtenSet(other)))).toEqual([
      expect.stringContaining("spec.template.spec.podDisruptionBudgets[0]"),
    ]);
  });

  test("nothing of it where only the rollout changes: a set whose release is gone can be paused", async () => {
    const spec = { ...goodSpec, template: { spec: bad } };
    const paused = writtenSet({ ...spec, rollout: { paused: true } }, { before: spec });
    expect(linesOf(await reviewSet(paused))).toEqual([]);
  });

  test("warnings are at their places, too", async () => {
    const { warnings } = await reviewSet(
      writtenSet(withOverrides(override("eu", { resources: [{ container: "a" }] }))),
    );
    expect(warnings).toContain(
      "spec.overrides[0].patch.resources: deprecated: use spec.workloads[].resources",
    );
  });
});

test("entries of spec.config that no ConfigMap is for are warnings, at the template and at an override", async () => {
  const spec = {
    ...withTemplate({
      version: "1.23",
      ingress: { kourier: { enabled: true } },
      // The release has config-istio, but beside Kourier it is not installed.
      config: { network: {}, nobody: {}, istio: {} },
    }),
    overrides: [override("eu", { config: { nothing: {} } })],
  };
  const releases = await openReleases(sampleDirOf());
  const renderCheck = componentProblems({ releases, environment: {}, spokeNamespace: "Canonical" });
  const { violations, warnings } = await reviewSet(writtenSet(spec), { renderCheck });
  expect(violations).toEqual([]);
  // A set decides when its clusters get a newer patch, so that its minor version is no matter for a warning.
  expect(warnings.filter((one) => one.includes(".version"))).toEqual([]);
  const told = "changes nothing: nothing that is installed has such a ConfigMap";
  expect(warnings).toEqual(
    expect.arrayContaining([
      `spec.template.spec.config.nobody: ${told}`,
      `spec.template.spec.config.istio: ${told}`,
      `spec.overrides[0].patch.config.nothing: ${told}`,
    ]),
  );
});

describe("rendering", () => {
  const rendered: Component[] = [];
  const renderCheck: RenderCheck = async (component) => {
    rendered.push(component);
    const problem = { path: "spec.version", message: "is not there" };
    const version = component.spec?.version === "9.9" ? [problem] : [];
    return {
      version,
      patches: [],
      others: [],
      target: undefined,
      remarks: [],
    };
  };

  test("each distinct result once, on a cluster and with stand-ins", async () => {
    rendered.length = 0;
    const spec = {
      ...withTemplate({
        version: "1.23",
        config: { network: { a: "$(cluster.name)-$(cluster.labels[x]:-y)" } },
      }),
      overrides: [override("us", { version: "1.23" }), override("eu", { version: "9.9" })],
    };
    const profiles = [prodProfile("us-1"), prodProfile("eu-1"), prodProfile("eu-2")];
    expect(linesOf(await reviewSet(writtenSet(spec), { renderCheck, profiles }))).toEqual([
      "422 spec.overrides[1].patch.version: is not there",
    ]);
    expect(rendered.map(({ spec: one }) => one?.version)).toEqual(["1.23", "9.9"]);
    expect(rendered[0]?.spec).toMatchObject({
      config: { network: { a: "cluster-1-y" } },
      clusterProfileRef: { name: "cluster" },
    });
  });

  test("stops where it would keep others waiting, with a warning", async () => {
    rendered.length = 0;
    const large = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, index) => [`k${index}`, "v"]),
    );
    const spec = {
      ...withTemplate({ config: { network: large } }),
      overrides: Array.from({ length: 10 }, (_, index) =>
        override(`o${index}`, { version: `1.${index}` }),
      ),
    };
    const { violations, warnings } = await reviewSet(writtenSet(spec), { renderCheck });
    expect(violations).toEqual([]);
    expect(rendered).toHaveLength(3);
    expect(warnings.at(-1)).toContain(
      "spec.overrides: give too many values to be held against the release now",
    );
  });
});

describe("the number of results", () => {
  const bits = Array.from({ length: 7 }, (_, bit) => ({
    name: `bit-${bit}`,
    selector: { matchLabels: { [`bit-${bit}`]: "1" } },
    patch: { config: { network: { [`bit-${bit}`]: "1" } } },
  }));
  const profiles = Array.from({ length: 65 }, (_, number) =>
    prodProfile(
      `c-${number}`,
      Object.fromEntries(bits.map((_one, bit) => [`bit-${bit}`, String((number >> bit) & 1)])),
    ),
  );

  test("is 64 at most for the clusters that are known", async () => {
    const spec = withOverrides(...bits);
    expect(linesOf(await reviewSet(writtenSet(spec), { profiles: profiles.slice(0, 64) }))).toEqual(
      [],
    );
    expect(linesOf(await reviewSet(writtenSet(spec), { profiles }))).toEqual([
      "422 spec.overrides: the clusters that are selected now get more than 64 different specs",
    ]);
  });

  test("counts equal specs once, and does not count clusters that are not selected", async () => {
    const same = bits.map((one) => ({ ...one, patch: { version: "1.22" } }));
    expect(linesOf(await reviewSet(writtenSet(withOverrides(...same)), { profiles }))).toEqual([]);
    const others = profiles.map((one) => ({
      ...one,
      metadata: { ...one.metadata, namespace: "other" },
    }));
    expect(
      linesOf(await reviewSet(writtenSet(withOverrides(...bits)), { profiles: others })),
    ).toEqual([]);
  });

  test("is bounded, and so is the time, for 10,000 clusters and the most patterns", () => {
    const clusters = Array.from({ length: 64 }, () => `*a${"?".repeat(250)}`);
    const overrides = Array.from({ length: 64 }, (_, index) =>
      override(`o-${index}`, {}, clusters),
    );
    const many = Array.from({ length: 10_000 }, (_, index) =>
      prodProfile(`${"a".repeat(240)}-${index}`),
    );
    const before = process.threadCpuUsage();
    const { results } = resultsOf({ template: {}, overrides }, many);
    expect(results.length).toBeLessThanOrEqual(64);
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(2_000);
  });
});
