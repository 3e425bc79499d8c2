import { describe, expect, test } from "vitest";

import { fleetSetFields } from "../../../../api/schema/fleet-set-spec.ts";
import type { Attempt } from "../../../../webhook/reviews/access-review.ts";
import { linesOf } from "../../component-stage.ts";
import { approveProd, goodSpec, reviewSet, writtenSet } from "./set-stage.ts";

const canary = {
  name: "canary",
  selector: { matchLabels: { stage: "canary" } },
  after: { soak: "1h", approval: true },
};
const main = { name: "main", selector: {}, before: { approval: true } };
const rollout = { stages: [canary, main] };
const exclude = [{ name: "eu-1", namespace: "fleet" }];
const clusters = { ...goodSpec.clusters, exclude };
const spec = { ...goodSpec, clusters, rollout };

const changed = (fields: object, before: object = spec) =>
  writtenSet({ ...before, ...fields }, { before });
const stages = (...list: readonly object[]) => ({ rollout: { ...rollout, stages: list } });
const mayNotApprove = (_user: string, { verb }: Attempt) => verb !== "approve";

/** The fields for which the author lacks the right to approve. */
async function refusedFields(request: Parameters<typeof reviewSet>[0]): Promise<readonly string[]> {
  const lines = linesOf(await reviewSet(request, { may: mayNotApprove }));
  const end = ': user "alice" may not "approve" stages of KnativeServingSet "platform/prod"';
  return lines.map((line) => line.replace(/^403 /, "").replace(end, ""));
}

describe("who may not approve may not take off the path of a set", () => {
  test.each([
    [
      "an approval after a stage",
      stages({ ...canary, after: { soak: "1h" } }, main),
      "[0].after.approval",
    ],
    [
      "an approval before a stage",
      stages(canary, { name: "main", selector: {} }),
      "[1].before.approval",
    ],
    [
      "a part of a soak",
      stages({ ...canary, after: { soak: "59m", approval: true } }, main),
      "[0].after.soak",
    ],
    ["a soak", stages({ ...canary, after: { approval: true } }, main), "[0].after.soak"],
    ["a stage", stages(main), ""],
    ["the last stage", stages(canary), ""],
    ["all stages", { rollout: {} }, ""],
    ["the rollout", { rollout: undefined }, ""],
    ["a stage by another name", stages({ ...canary, name: "first" }, main), ""],
    [
      "the clusters of a stage",
      stages({ ...canary, selector: { matchLabels: { stage: "none" } } }, main),
      "",
    ],
    ["clusters by a stage before", stages({ name: "zero", selector: {} }, canary, main), ""],
    ["the order of the stages", stages(main, canary), ""],
  ])("%s", async (_name, fields, path) => {
    expect(await refusedFields(changed(fields))).toEqual([`spec.rollout.stages${path}`]);
  });

  test.each([
    [
      "a cluster by an exclusion",
      { clusters: { ...clusters, exclude: [...exclude, { name: "eu-2" }] } },
      ".exclude",
    ],
    [
      "a cluster of the same name in the set's namespace",
      { clusters: { ...clusters, exclude: [{ name: "eu-1" }] } },
      ".exclude",
    ],
    ["clusters by the selector", { clusters: { from: "Selector", selector: {}, exclude } }, ""],
  ])("%s", async (_name, fields, path) => {
    expect(await refusedFields(changed(fields))).toEqual([`spec.clusters${path}`]);
  });

  test("several things at once, each of which is told", async () => {
    const without = { name: "canary", selector: canary.selector };
    const fields = {
      ...stages(without, main),
      clusters: { ...clusters, exclude: [{ name: "x" }] },
    };
    expect(await refusedFields(changed(fields))).toEqual([
      "spec.clusters.exclude",
      "spec.rollout.stages[0].after.approval",
      "spec.rollout.stages[0].after.soak",
    ]);
  });
});

describe("a plain editor may", () => {
  test.each([
    ["write another revision", { template: { spec: { version: "1.22" } } }],
    ["change overrides", { overrides: [] }],
    ["pause", { rollout: { ...rollout, paused: true } }],
    ["ask for more approvals", stages({ ...canary, before: { approval: true } }, main)],
    ["soak for longer", stages({ ...canary, after: { soak: "3600s", approval: true } }, main)],
    ["add a stage at the end", stages(canary, main, { name: "rest", selector: {} })],
    ["change limits and windows", stages({ ...canary, maxFailures: 1, maxConcurrency: 2 }, main)],
    ["exclude fewer clusters", { clusters: goodSpec.clusters }],
    [
      "say why a cluster is excluded",
      { clusters: { ...clusters, exclude: [{ ...exclude[0], reason: "moved" }] } },
    ],
  ])("%s", async (_name, fields) => {
    expect(await refusedFields(changed(fields))).toEqual([]);
  });

  test("change everything about a set that has no stages", async () => {
    const before = { ...goodSpec, clusters };
    const fields = { clusters: { from: "Selector", selector: {}, exclude: [{ name: "eu-2" }] } };
    expect(await refusedFields(changed({ ...fields, rollout }, before))).toEqual([]);
  });

  test("create a set with gates", async () => {
    expect(await refusedFields(writtenSet(spec))).toEqual([]);
  });
});

describe("each field by which a revision comes sooner to a cluster, or to one more", () => {
  const windows = [{ cron: "0 2 * * *", duration: "1h" }];
  const gated = { ...main, before: { approval: true, windows } };
  const strict = {
    verify: { workloads: { within: "3m" } },
    stages: [canary, gated],
    unmatched: "Refuse",
    windows,
    minReadySeconds: 600,
  };
  const before = { ...goodSpec, clusters, adoption: "Never", rollout: strict };
  const looser = (change: object) => ({ rollout: { ...strict, ...change } });
  const first = (change: object) => looser({ stages: [{ ...canary, ...change }, gated] });
  const second = (change: object) =>
    looser({ stages: [canary, { ...gated, before: { ...gated.before, ...change } }] });
  const more = { name: "rest", selector: {} };
  const stagesPath = "spec.rollout.stages";

  const gates: readonly (readonly [field: string, path: string, change: object])[] = [
    ["clusters", "spec.clusters.exclude", { clusters: { ...clusters, exclude: [{ name: "a" }] } }],
    ["rollout.stages[].name", stagesPath, first({ name: "first" })],
    ["rollout.stages[].selector", stagesPath, first({ selector: {} })],
    ["rollout.stages[].decisionGroup", stagesPath, first({ decisionGroup: "a" })],
    [
      "rollout.stages[].before.approval",
      `${stagesPath}[1].before.approval`,
      second({ approval: false }),
    ],
    [
      "rollout.stages[].after.soak",
      `${stagesPath}[0].after.soak`,
      first({ after: { approval: true } }),
    ],
    [
      "rollout.stages[].after.approval",
      `${stagesPath}[0].after.approval`,
      first({ after: { soak: "1h" } }),
    ],
    ["rollout.stages[]", stagesPath, looser({ stages: [canary, gated, more] })],
    ["rollout.unmatched", "spec.rollout.unmatched", looser({ unmatched: "Last" })],
    ["rollout.unmatched", "spec.rollout.unmatched", looser({ unmatched: "Exclude" })],
    ["rollout.unmatched", "spec.rollout.unmatched", looser({ unmatched: undefined })],
    ["rollout.minReadySeconds", "spec.rollout.minReadySeconds", looser({ minReadySeconds: 599 })],
    [
      "rollout.minReadySeconds",
      "spec.rollout.minReadySeconds",
      looser({ minReadySeconds: undefined }),
    ],
    ["rollout.verify", "spec.rollout.verify", looser({ verify: undefined })],
    ["rollout.verify", "spec.rollout.verify", looser({ verify: { workloads: { within: "9m" } } })],
    [
      "rollout.stages[].verify",
      `${stagesPath}[0].verify`,
      first({ verify: { workloads: { maxNewlyBroken: 9 } } }),
    ],
  ];
  /** A new revision meets every gate; a limit, a window or a deadline opens none. */
  const free: readonly (readonly [field: string, change: object])[] = [
    ["template", { template: { spec: { version: "1.22" } } }],
    ["overrides", { overrides: [{ name: "a", clusters: ["*"], patch: { version: "1.22" } }] }],
    ["adoption", { adoption: "Always" }],
    ["whenUnselected", { whenUnselected: { policy: "Delete", after: "0s" } }],
    ["deletionPolicy", { deletionPolicy: "Delete" }],
    ["revisionHistoryLimit", { revisionHistoryLimit: 1 }],
    ["rollout.order", looser({ order: "Name" })],
    ["rollout.after", looser({ after: { kind: "KnativeEventingSet", name: "events" } })],
    ["rollout.windows", looser({ windows: [] })],
    ["rollout.progressDeadline", looser({ progressDeadline: "1s" })],
    ["rollout.maxUnreachable", looser({ maxUnreachable: "100%" })],
    ["rollout.onFailure", looser({ onFailure: "Rollback" })],
    ["rollout.paused", looser({ paused: false })],
    ["rollout.stages[].maxConcurrency", first({ maxConcurrency: "100%" })],
    ["rollout.stages[].maxFailures", first({ maxFailures: "100%" })],
    ["rollout.stages[].maxUnreachable", first({ maxUnreachable: "100%" })],
    ["rollout.stages[].before.windows", second({ windows: [] })],
  ];

  test.each(gates)("%s needs the right to approve (%#)", async (_field, path, change) => {
    expect(await refusedFields(changed(change, before))).toContain(path);
  });

  test.each(free)("%s needs no such right", async (_field, change) => {
    expect(await refusedFields(changed(change, before))).toEqual([]);
  });

  test("is one of these", () => {
    const { rollout: all, ...rest } = fleetSetFields;
    const { stages: list, ...ofRollout } = all.properties;
    const { before: gate, after, ...ofStage } = list.items.properties;
    const fields = [
      ...Object.keys(rest),
      "template",
      ...Object.keys(ofRollout).map((name) => `rollout.${name}`),
      ...Object.keys(ofStage).map((name) => `rollout.stages[].${name}`),
      ...Object.keys(gate.properties).map((name) => `rollout.stages[].before.${name}`),
      ...Object.keys(after.properties).map((name) => `rollout.stages[].after.${name}`),
    ];
    const known = [...gates, ...free].map(([field]) => field);
    expect(fields.filter((field) => !known.includes(field))).toEqual([]);
  });

  test.each([
    ["ask for longer readiness", { minReadySeconds: 601 }],
    ["stop at a cluster of no stage", { unmatched: "Refuse" }],
  ])("to %s needs no such right", async (_name, change) => {
    const open = { ...strict, unmatched: "Last" };
    const fields = { rollout: { ...open, ...change } };
    expect(await refusedFields(changed(fields, { ...before, rollout: open }))).toEqual([]);
  });
});

test("a right that cannot be found out refuses", async () => {
  expect(linesOf(await reviewSet(changed(stages(main)), { may: () => new Error("away") }))).toEqual(
    [
      '500 spec.rollout.stages: the SubjectAccessReview for the right to "approve" stages of KnativeServingSet "platform/prod" was not answered; try again',
    ],
  );
});

test("who may approve is asked about with the name of the set", async () => {
  const asked: Attempt[] = [];
  const may = (_user: string, attempt: Attempt) => asked.push(attempt) > 0;
  expect(linesOf(await reviewSet(changed(stages(main)), { may }))).toEqual([]);
  expect(asked).toEqual([approveProd]);
});
