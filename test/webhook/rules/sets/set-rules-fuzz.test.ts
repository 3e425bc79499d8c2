import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { systemClock } from "../../../../access/time/system-clock.ts";
import { setReview } from "../../../../webhook/reviews/set-review.ts";
import { setRules } from "../../../../webhook/rules/sets/set-rules.ts";
import { runsOf, seed } from "../../../support/fuzz.ts";
import { prodProfile, writtenSet } from "./set-stage.ts";

// With fewer of them some rule is not broken at all.
const reviews = runsOf(2_000, 1_000);

const json = fc.jsonValue({ maxDepth: 3 });
const hostile = fc.constantFrom(
  "__proto__",
  "constructor",
  "$(cluster.name)",
  "$(cluster.labels[",
  "$(cluster.properties[a]:-$(cluster.name))",
  "$$(cluster.name)",
  "knfleet.dev/set",
  "clusterProfileRef",
  "\0",
  "*".repeat(253),
  "*a".repeat(126),
  "0 0 30 2 *",
  "* * * * * *",
  "9".repeat(30) + "h",
  "Label:",
  "unmatched",
  "a".repeat(300),
);
const word = fc.oneof(
  hostile,
  fc.string({ maxLength: 12 }),
  fc.constantFrom("a", "eu-1", "prod", "1.23", "In", "Exists", "10m", "10%", "Delete", "Selector"),
);
/** Puts something else in the place of what belongs there, or does not. */
type Disturb = (usual: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>;
const never: Disturb = (usual) => usual;
const sometimes: Disturb = (usual) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: json });

const list = (item: fc.Arbitrary<unknown>) => fc.array(item, { maxLength: 3 });
const duration = fc.constantFrom("10m", "0s", `${"9".repeat(30)}h`, "1h1h");

/** Specs of sets. Undisturbed ones have the shape of the schema. */
function specsOf(disturb: Disturb, needed: readonly string[]): fc.Arbitrary<unknown> {
  const some = (
    fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
    requiredKeys: readonly string[] = [],
  ) =>
    disturb(
      fc.record(
        Object.fromEntries(Object.entries(fields).map(([name, usual]) => [name, disturb(usual)])),
        { requiredKeys: [...requiredKeys] },
      ),
    );
  const texts = fc.dictionary(word, disturb(word), { maxKeys: 3 });
  const nonEmpty = word.filter((text) => text !== "");
  const short = nonEmpty.filter((text) => text.length <= 63);
  const selector = {
    matchLabels: texts,
    matchExpressions: list(
      some({ key: word, operator: word, values: list(word) }, ["key", "operator"]),
    ),
  };
  const patch = some({
    version: word,
    registry: some({ default: word }),
    config: fc.dictionary(word, disturb(texts), { maxKeys: 2 }),
    manifests: list(some({ URL: word })),
    patches: list(some({ target: texts, patch: word })),
    "high-availability": some({ replicas: fc.integer() }),
    workloads: list(some({ name: word, labels: texts, replicas: fc.integer() })),
    clusterProfileRef: json,
  });
  const zone = fc.constantFrom("Europe/Berlin", "UTC", "+02:00", "", "Nowhere");
  const cron = fc.oneof(
    fc.constantFrom("0 22 * * 1-5", "0 0 30 2 *", "* * * * * *", "L L L L L", "@midnight"),
    fc.string({ minLength: 9, maxLength: 20 }),
    fc
      .array(fc.constantFrom("*", "1", "*/2", "1-5", "L", "0", "99", "?"), {
        minLength: 5,
        maxLength: 5,
      })
      .map((all) => all.join(" ")),
  );
  const windows = list(some({ cron, duration, timeZone: zone }, ["cron", "duration"]));
  const service = some({ namespace: short, name: short }, ["namespace", "name"]);
  const prometheus = some({ service, query: nonEmpty, min: fc.integer(), max: fc.integer() }, [
    "service",
    "query",
  ]);
  const check = some(
    {
      name: fc.constantFrom("rate", "workloads", "-"),
      prometheus,
      webhook: some(
        {
          url: fc.constantFrom("https://elsewhere.example/a", "https://a/../b", "https://a:0#x"),
          caBundle: fc.constantFrom("QUJD", "%"),
          secretName: fc.constantFrom("knfleet-check-a", "other"),
          timeout: duration,
        },
        ["url"],
      ),
      for: duration,
      interval: fc.oneof(duration, fc.constant("1s")),
    },
    ["name"],
  );
  const verify = some({ workloads: some({ within: duration }), checks: list(check) });
  const stage = {
    verify,
    name: fc.constantFrom("canary", "unmatched", "-", "a-before", "rest"),
    selector: some(selector),
    decisionGroup: fc.constantFrom("a", "b"),
    before: some({ windows, approval: fc.boolean() }),
    after: some({ soak: duration }),
  };
  const override = {
    name: fc.constantFrom("eu", "us", "gold"),
    selector: some(selector),
    clusters: fc.array(
      nonEmpty.map((text) => text.slice(0, 253)),
      { minLength: 1, maxLength: 3 },
    ),
    patch,
  };
  return some(
    {
      clusters: some(
        {
          from: fc.constantFrom("Selector", "PlacementDecision", "OCMPlacement"),
          selector: some({ ...selector, namespaces: list(short), clusterManagers: list(short) }),
          placementDecision: some({ decisionKey: short, placementKey: short }),
          ocmPlacement: some({ name: short }, ["name"]),
          exclude: list(some({ name: short }, ["name"])),
        },
        ["from"],
      ),
      template: some({ metadata: some({ labels: texts, annotations: texts }), spec: patch }),
      overrides: list(some(override, ["name", "patch"])),
      rollout: some({
        stages: list(some(stage, ["name"])),
        order: fc.constantFrom("Hashed", "Name", "Label:a b", "Label:wave"),
        windows,
        verify,
        progressDeadline: fc.oneof(duration, fc.constant("None")),
      }),
      whenUnselected: some({ policy: fc.constantFrom("Orphan", "Delete"), after: duration }),
      deletionPolicy: fc.constantFrom("Orphan", "Delete"),
    },
    needed,
  );
}

const wild = specsOf(sometimes, []);
const shaped = specsOf(never, ["clusters", "template"]);
const annotations = fc.dictionary(
  fc.oneof(
    word,
    word.map((stage) => `knfleet.dev/approve.${stage}-after`),
  ),
  sometimes(word),
  { maxKeys: 3 },
);
const change = fc.record(
  {
    annotations: sometimes(annotations),
    oldAnnotations: sometimes(annotations),
    metadata: sometimes(fc.constant({})),
    before: fc.oneof(wild, shaped),
    operation: fc.constantFrom("CREATE", "UPDATE", "DELETE", "CONNECT"),
    kind: fc.constantFrom("KnativeServingSet", "KnativeEventingSet"),
    name: fc.oneof(word, fc.constant(undefined)),
  },
  { requiredKeys: [] },
);

describe("sets under random inputs", () => {
  test(`${reviews} reviews never throw, and every problem has a path (seed ${seed})`, async () => {
    const profiles = [
      prodProfile("eu-1", { region: "eu" }),
      prodProfile("a".repeat(253)),
      { ...prodProfile("odd"), status: { properties: null } },
    ];
    const review = setReview({
      facts: { profiles: async () => profiles },
      accessReviews: { may: async () => true },
      manifestRight: true,
      spokeNamespace: "Component",
      clock: systemClock,
      manifestSources: [],
      checkSources: [],
    });
    let [longestMs, allowed] = [0, 0];
    const rules = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.oneof(wild, shaped), change, async (value, changes) => {
        // What an API server sends has passed through JSON.
        const object: unknown = JSON.parse(JSON.stringify(value));
        const request = writtenSet(object, changes);
        const before = process.threadCpuUsage();
        const { violations, warnings } = await review(request, new AbortController().signal);
        longestMs = Math.max(longestMs, process.threadCpuUsage(before).user / 1_000);
        expect(violations.every(({ path, message }) => path !== "" && message !== "")).toBe(true);
        expect(warnings.every((one) => /^(?:spec|metadata)/.test(one))).toBe(true);
        for (const { rule } of violations) rules.add(rule);
        if (violations.length === 0) allowed += 1;
      }),
      { numRuns: reviews, seed },
    );
    expect(Object.keys(setRules).filter((rule) => !rules.has(rule))).toEqual([]);
    expect(allowed).toBeGreaterThan(reviews / 100);
    // The first review compiles the schemas.
    expect(longestMs).toBeLessThan(1_000);
  }, 900_000);
});
