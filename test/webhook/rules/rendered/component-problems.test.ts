import { resolve } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { openReleases } from "../../../../cmd/open-releases.ts";
import type { Releases } from "../../../../render/release/releases.ts";
import { componentReview } from "../../../../webhook/reviews/component-review.ts";
import { componentProblems } from "../../../../webhook/rules/rendered/component-problems.ts";
import { factsOf, linesOf, review, type Stage, written } from "../../component-stage.ts";

const sample = resolve(import.meta.dirname, "../../../fixtures/release");
// The sample release has Gateway API for 1.23 alone.
const gatewayApi = { version: "1.22", ingress: { "gateway-api": { enabled: true } } };
const kourier = { ingress: { kourier: { enabled: true } } };
const moves =
  "1.23.1 now, and an upgrade of knfleet with a newer release installs that at once; name 1.23.1 to decide when";
let releases: Releases;

beforeAll(async () => {
  releases = await openReleases(sample);
});

const stage = (of = releases): Stage => ({
  renderCheck: componentProblems({ releases: of, environment: {}, spokeNamespace: "Canonical" }),
});
const beside = (): Stage => ({
  renderCheck: componentProblems({
    releases: undefined,
    environment: {},
    spokeNamespace: "Canonical",
  }),
});

describe("versions", () => {
  test.each([
    [
      { version: "1.24.0" },
      /the manifests of the target version 1\.24\.0 are not available to this release; it has 1\.23\.1, 1\.23\.0/,
    ],
    [{ version: "newest" }, /target version vnewest is not in a valid semantic versioning format/],
    [{ version: "1" }, /should at least include the major and minor numbers/],
    [
      { manifests: [{ URL: "https://example.com/a.yaml" }] },
      /is required together with spec\.manifests/,
    ],
  ])("%j is refused", async (spec, text) => {
    const lines = linesOf(await review(written({ ...kourier, ...spec }), stage()));
    expect(lines).toEqual([expect.stringMatching(text)]);
    expect(lines[0]?.startsWith("422 spec.version: ")).toBe(true);
  });

  test.each([undefined, "", "latest", "Latest", "1.23", "v1.23", "1.23.0", "v1.22.0"])(
    "%j is allowed",
    async (version) => {
      const spec = { ...kourier, ...(version === undefined ? {} : { version }) };
      expect(linesOf(await review(written(spec), stage()))).toEqual([]);
    },
  );

  test.each([
    [
      "1.21.0",
      "1.23.0",
      /across multiple MINOR versions\. The installed KnativeServing version is v1\.21\.0/,
    ],
    ["0.9.0", "1.23.0", /across the MAJOR version/],
  ])(
    "from %s to %s is refused, with and without a release directory",
    async (installed, version, text) => {
      const request = written(
        { ...kourier, version },
        { before: {}, status: { version: installed } },
      );
      for (const one of [stage(), beside()]) {
        expect(linesOf(await review(request, one))).toEqual([expect.stringMatching(text)]);
      }
    },
  );

  test("beside another operator only the texts of versions are checked", async () => {
    expect(linesOf(await review(written({ version: "1.99.0" }), beside()))).toEqual([]);
    expect(linesOf(await review(written({ version: "x" }), beside()))).toHaveLength(1);
  });

  test.each([undefined, "", "1.99.0"])(
    "beside another operator manifests of the user need a version too: %j",
    async (version) => {
      const manifests = [{ URL: "https://example.com/a.yaml" }];
      const spec = { manifests, ...(version === undefined ? {} : { version }) };
      const refusal = "422 spec.version: is required together with spec.manifests";
      const isSaid = (version ?? "") === "";
      expect(linesOf(await review(written(spec), beside()))).toEqual(isSaid ? [refusal] : []);
    },
  );

  test("a version problem hides no other problem", async () => {
    const spec = {
      ...kourier,
      version: "9.9.9",
      security: { securityGuard: { enabled: true } },
      workloads: [{ name: "a", replicas: -1 }],
    };
    const rules = (await review(written(spec), stage())).violations.map(({ rule }) => rule);
    expect(rules).toEqual(expect.arrayContaining(["version", "replicas"]));
  });
});

describe("what hides no problem of the version or of the rest", () => {
  test.each([
    [{ "high-availability": {} }, ["spec.high-availability.replicas", "spec.version"]],
    [{ workloads: [{}], config: 1 }, ["spec.config", "spec.version", "spec.workloads[0].name"]],
    // Whose manifests these are decides what the version may be.
    [{ manifests: 1 }, ["spec.manifests"]],
  ])("a wrong shape: %j", async (spec, paths) => {
    const { violations } = await review(
      written({ ...kourier, ...spec, version: "9.9.9" }),
      stage(),
    );
    expect(violations.map(({ path }) => path).toSorted()).toEqual(paths);
  });

  test("a misshapen ingress is not taken for Istio", async () => {
    const ingress = { kourier: { enabled: "yes" } };
    const { violations } = await review(written({ ingress }), stage());
    expect(violations.map(({ path }) => path)).toEqual(["spec.ingress.kourier.enabled"]);
  });

  test("another component on the cluster", async () => {
    const components = [
      { kind: "KnativeServing", namespace: "b", name: "b", ref: undefined } as const,
    ];
    const ruling = await review(written(gatewayApi), { ...stage(), components });
    expect(ruling.violations.map(({ rule }) => rule)).toEqual(["duplicate", "rendering"]);
  });
});

test.each([
  [{ version: "1.23.0" }, []],
  [{ version: "v1.23.0" }, []],
  [{ version: "1.23" }, [`spec.version: means ${moves}`]],
  [{ version: "latest" }, [`spec.version: means ${moves}`]],
  [{}, [`spec.version: absent, which means ${moves}`]],
])("of %j it is said whether an upgrade of knfleet may change it", async (fields, wanted) => {
  const { violations, warnings } = await review(written({ ...kourier, ...fields }), stage());
  expect(violations).toEqual([]);
  expect(warnings.filter((one) => one.startsWith("spec.version"))).toEqual(wanted);
});

describe("what rendering says", () => {
  test.each([
    [
      "KnativeServing",
      gatewayApi,
      /^422 spec\.ingress\.gateway-api: The release directory holds no ingress\/1\.22\/gateway-api; it has /,
    ],
    [
      "KnativeServing",
      { ...kourier, security: { securityGuard: { enabled: true } } },
      /^422 spec\.security\.securityGuard\.enabled: /,
    ],
    ["KnativeEventing", { source: { redis: { enabled: true } } }, /^422 spec\.source\.redis: /],
  ])("%s %j is refused with the field that it is about", async (kind, spec, text) => {
    expect(linesOf(await review(written(spec, { kind }), stage()))).toEqual([
      expect.stringMatching(text),
    ]);
  });

  test("is about Istio where nobody names an ingress", async () => {
    const withoutIstio: Releases = {
      ...(await openReleases(sample)),
      load: (part) => releases.load(part.replace("ingress/1.23/istio", "ingress/9.9/istio")),
    };
    expect(linesOf(await review(written({}), stage(withoutIstio)))).toEqual([
      "422 spec.ingress.istio: The release directory holds no ingress/9.9/istio; it has nothing in ingress/9.9",
    ]);
  });

  test("is said once where a rule has said it", async () => {
    const budget = { name: "activator-pdb", minAvailable: 1, maxUnavailable: 1 };
    const spec = { ...kourier, podDisruptionBudgets: [budget] };
    expect(linesOf(await review(written(spec), stage()))).toHaveLength(1);
  });

  test("overrides that name nothing are warnings", async () => {
    const spec = {
      ...kourier,
      version: "1.23.1",
      workloads: [
        { name: "controller", env: [{ container: "nobody", envVars: [] }] },
        { name: "controler" },
      ],
      services: [{ name: "nothing" }],
      podDisruptionBudgets: [{ name: "nothing" }],
      config: { nothing: {} },
    };
    const { violations, warnings } = await review(written(spec), stage());
    expect(violations).toEqual([]);
    expect(warnings.map((one) => one.split(": ", 1)[0])).toEqual([
      "spec.workloads[0].env[0].container",
      "spec.workloads[1].name",
      "spec.services[0].name",
      "spec.podDisruptionBudgets[0].name",
      "spec.config.nothing",
    ]);
  });
});

const labelled = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: "controller",
    labels: { [`a${index}`]: "b" },
  }));

test("G5 1,900 overrides of one workload are held against the release, and hold nobody up", async () => {
  const impossible = { livenessProbes: [{ container: "absent" }], replicas: -1 };
  await review(written({ ...kourier }), stage());
  const before = process.threadCpuUsage();
  const workloads = [...labelled(1_900), { name: "controller", ...impossible }];
  const ruling = await review(written({ ...kourier, workloads }), stage());
  // It takes some 60 ms of a machine's time, and took seconds when each override was applied by itself.
  expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000);
  expect(ruling.violations.map(({ rule }) => rule)).toEqual(["replicas"]);
  expect(ruling.warnings.slice(1)).toEqual([
    expect.stringContaining("no container of this name"),
    expect.stringMatching(/^spec: \d+ more values were not tried for an effect; /),
  ]);
});

test("a template of a megabyte is refused before each image is as long", async () => {
  const ruling = await review(
    written({ ...kourier, registry: { default: "${NAME}".repeat(100_000) } }),
    stage(),
  );
  expect(ruling.violations.map(({ rule, path }) => [rule, path])).toEqual([
    ["registry", "spec.registry.default"],
  ]);
});

test("G5 a spec of 16,000 values holds nobody up, keeps its version rule, and is said not to be rendered", async () => {
  const workloads = labelled(4_000);
  const before = process.threadCpuUsage();
  const ruling = await review(written({ ...kourier, version: "9.9.9", workloads }), stage());
  expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000);
  expect(ruling.violations.map(({ rule }) => rule)).toEqual(["version"]);
  expect(ruling.warnings).toEqual([expect.stringContaining("too large to be held against")]);
});

test("what is not done as it is written is warned of, with a release directory", async () => {
  const request = written({
    ...kourier,
    version: "1.23.1",
    config: { network: { autoTLS: "Enabled" } },
    registry: { override: { nobody: "a.example/b:v1" } },
    workloads: [
      { name: "activator", replicas: 3 },
      { name: "controller", version: "1" },
    ],
  });
  const { warnings, violations } = await review(request, stage());
  expect(violations).toEqual([]);
  expect(warnings).toEqual([
    expect.stringMatching(/^spec\.registry\.override\.nobody: names no container/),
    expect.stringMatching(/^spec\.config\.network\.autoTLS: config-network of the release/),
    expect.stringMatching(/^spec\.workloads\[0\]\.replicas: the autoscaler "activator" keeps 3 to/),
    "spec.workloads[1].version: has no effect; leave it out",
  ]);
  expect((await review(request, beside())).warnings).toEqual([]);
});

test("of a component with manifests of its own, what the release alone says is warned of", async () => {
  const spec = {
    ...kourier,
    version: "1.23.1",
    workloads: [{ name: "nobody" }],
    config: { network: { autoTLS: "Enabled" } },
    additionalManifests: [{ URL: "https://example.com/a.yaml" }],
  };
  const { warnings } = await review(written(spec), stage());
  expect(warnings.filter((one) => one.startsWith("spec.workloads"))).toEqual([]);
  expect(warnings).toEqual(
    expect.arrayContaining([
      expect.stringContaining("spec.config.network.autoTLS: "),
      expect.stringContaining("kubectl knfleet render -f FILE says which fields change nothing"),
    ]),
  );
});

test("a search for remarks that takes too long costs the remarks left, and not the decision", async () => {
  const { renderCheck } = stage();
  const request = written({
    ...kourier,
    version: "1.23.1",
    workloads: [{ name: "nobody" }, { name: "webhook", hostNetwork: true }],
  });
  const sources = { facts: factsOf({}), accessReviews: { may: async () => true }, renderCheck };
  const late = AbortSignal.abort(new DOMException("late", "TimeoutError"));
  const ruling = await componentReview(sources)(request, new AbortController().signal, late);
  expect(ruling).toEqual({
    violations: [],
    warnings: [
      expect.stringContaining("names no Deployment"),
      expect.stringContaining("not tried for an effect"),
    ],
  });
});
