import { describe, expect, test } from "vitest";

import { setWarnings } from "../../../../webhook/rules/sets/set-rules.ts";
import { goodSpec, prodProfile, reviewSet, type SetStage, writtenSet } from "./set-stage.ts";

const inFleet = (changes: object) => ({ clusters: { ...goodSpec.clusters, ...changes } });
const stages = (...list: readonly object[]) => ({ rollout: { stages: list } });
const all = { name: "all", selector: {} };
const overrideOf = (pattern: string) => ({
  overrides: [{ name: "eu", clusters: [pattern], patch: {} }],
});

const grants = [{ fromNamespace: "platform", toNamespace: "fleet", names: ["eu-2"] }];
const warned: readonly (readonly [warning: string, spec: object, stage: SetStage, line: string])[] =
  [
    [
      "spoke-namespace",
      {},
      { spokeNamespace: "Component" },
      'metadata.namespace: with --spoke-namespace=Component every cluster gets its installation in namespace "platform", not in knative-serving',
    ],
    ["no-cluster", {}, { profiles: [] }, "spec.clusters.selector: selects no ClusterProfile now"],
    [
      "not-permitted",
      {},
      { references: { policy: { mode: "Granted", grants } } },
      'spec.clusters.selector: 1 of 2 clusters that are selected now are left out: ReferenceNotPermitted: No grant lets components of namespace "platform" use ClusterProfile fleet/eu-1',
    ],
    [
      "idle-exclusion",
      inFleet({ exclude: [{ namespace: "fleet", name: "eu-3" }] }),
      {},
      'spec.clusters.exclude[0]: excludes nothing now: namespace "fleet" has no ClusterProfile "eu-3"',
    ],
    [
      "idle-exclusion",
      inFleet({ exclude: [{ name: "eu-1" }] }),
      {},
      'spec.clusters.exclude[0]: excludes nothing: the set selects no ClusterProfile of namespace "platform"',
    ],
    [
      "idle-override",
      overrideOf("us-*"),
      {},
      "spec.overrides[0]: applies to no cluster that is selected now",
    ],
    [
      "empty-stage",
      stages(all, { name: "later", selector: { matchLabels: { a: "b" } } }),
      {},
      'spec.rollout.stages[1]: never has a cluster: stage "all" before it takes them all',
    ],
    [
      "empty-stage",
      stages(
        { name: "a", selector: { matchLabels: { ring: "0" } } },
        { name: "b", selector: { matchLabels: { ring: "0" } } },
      ),
      {},
      'spec.rollout.stages[1]: never has a cluster: stage "a" before it takes them all',
    ],
  ];

describe("the warnings about a set", () => {
  const cases = warned.map(([name, changes, stage, line]) => ({ name, changes, stage, line }));

  test.each(cases)("$name: $line", async ({ changes, stage, line }) => {
    const there = { profiles: [prodProfile("eu-1"), prodProfile("eu-2")], ...stage };
    const { violations, warnings } = await reviewSet(
      writtenSet({ ...goodSpec, ...changes }),
      there,
    );
    expect(violations).toEqual([]);
    expect(warnings).toContain(line);
  });

  test("each has a case", () => {
    const tried = new Set(warned.map(([name]) => name));
    expect(Object.keys(setWarnings).filter((name) => !tried.has(name))).toEqual([]);
  });

  test("none about exclusions and overrides that have an effect", async () => {
    const exclude = [{ namespace: "fleet", name: "eu-1" }];
    const spec = { ...goodSpec, ...inFleet({ exclude }), ...overrideOf("eu-?") };
    const stage = { profiles: [prodProfile("eu-1"), prodProfile("eu-2")] };
    expect(await reviewSet(writtenSet(spec), stage)).toEqual({ violations: [], warnings: [] });
  });

  test("none about clusters that the hub does not tell, or that the author may not use", async () => {
    const away = { profiles: new Error("The hub is away") };
    expect(await reviewSet(writtenSet(goodSpec), away)).toMatchObject({ violations: [] });
    const spec = { ...goodSpec, ...inFleet({ exclude: [{ namespace: "fleet", name: "eu-3" }] }) };
    const warnings = await Promise.all(
      [away, { may: () => false }].map(
        async (stage) => (await reviewSet(writtenSet(spec), stage)).warnings,
      ),
    );
    expect(warnings.flat().filter((line) => line.includes("ClusterProfile"))).toEqual([]);
  });
});
