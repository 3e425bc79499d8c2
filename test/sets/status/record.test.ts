import { describe, expect, test } from "vitest";

import { revisionAnnotations, steering } from "../../../api/fleet-set.ts";
import { recordOf, withEntries } from "../../../sets/status/record-entry.ts";
import { rolloutWith, type SetWorld } from "../set-world.ts";
import { completeWorld, next, stages, updateOf } from "../two-rings.ts";

/** The record of the revision that the set wants, in words, without the stages that were passed. */
function told(world: SetWorld, name = updateOf(world)): readonly string[] {
  return entriesOf(world, name).filter((entry) => !entry.startsWith("pass"));
}

function entriesOf(world: SetWorld, name = updateOf(world)): readonly string[] {
  const { record = [] } = world.revisions.find((one) => one.name === name) ?? {};
  return record.map(({ what, user, stage, subject, reason }) =>
    [what, user, stage, subject, reason].filter((word) => word !== undefined).join(" | "),
  );
}

function did(world: SetWorld, what: string, more: object = {}): void {
  const deed = { at: new Date(world.now).toISOString(), user: "alice", ...more };
  world.annotate(`${steering.did}${what}`, JSON.stringify(deed));
}

const gated = {
  stages: [
    { name: "canary", selector: { matchLabels: { ring: "canary" } }, after: { approval: true } },
    { name: "rest", selector: { matchLabels: { ring: "rest" } }, maxConcurrency: 5 },
  ],
};

describe("the record of a revision", () => {
  test("has its beginning, who approved and paused it, and its end", () => {
    const world = completeWorld();
    world.edit({ ...next, rollout: rolloutWith(gated) });
    world.run(["AwaitingApproval"]);
    world.annotate(`${steering.approve}canary-after`, `${updateOf(world)} bob smith`);
    world.annotate(steering.pause, "incident 7");
    did(world, "pause", { reason: "incident 7" });
    world.settle();
    expect(world.set.metadata.annotations).not.toHaveProperty([`${steering.did}pause`]);
    world.annotate(steering.pause, undefined);
    world.run(["Complete"]);
    expect(told(world)).toEqual([
      "begin",
      "pause | alice | canary | incident 7",
      "approve | bob smith | canary | end of canary",
      "resume | rest",
      "complete | rest",
    ]);
  });

  test("has what came of each stage, when it was passed, once for each rollout", () => {
    const world = completeWorld({}, ["rest-1"]);
    world.edit(next);
    world.run(["Complete"]);
    const passed = [
      "pass | canary | 2 of 2 clusters are done",
      "pass | rest | 4 of 5 clusters are done, 1 failed",
    ];
    expect(entriesOf(world)).toEqual(["begin", ...passed, "complete | rest"]);
    world.pass(60_000);
    world.settle();
    expect(entriesOf(world)).toHaveLength(4);
  });

  test("says why it halted, who tried it again, and why it was given up", () => {
    const bad = ["rest-1", "rest-2", "rest-3"];
    const world = completeWorld({}, bad);
    world.edit(next);
    world.run(["Halted"]);
    const why = "Stage rest halted: 2 clusters failed, maxFailures is 1";
    expect(told(world)).toEqual(["begin", `halt | rest | ${why}`]);
    // Once, however often it is looked at.
    world.pass(60_000);
    world.settle();
    expect(told(world)).toHaveLength(2);
    did(world, "retry");
    world.annotate(steering.retry, updateOf(world));
    world.settle();
    expect(told(world).slice(2)).toEqual(["retry | alice | rest"]);
    world.edit({ rollout: rolloutWith({ stages, onFailure: "Rollback" }) });
    world.run(["RolledBack"]);
    expect(told(world).at(-1)).toBe(`rollback | rest | ${why}`);
  });

  test("says that another revision ended it, and who went back", () => {
    const world = completeWorld();
    const first = updateOf(world);
    world.edit(next);
    world.settle();
    world.pass(1_000);
    world.settle();
    const second = updateOf(world);
    world.edit({ template: { spec: { version: "1.22.0" } } });
    did(world, "undo", { reason: `to revision ${first}` });
    world.run(["Complete"]);
    expect(told(world, second)).toEqual(["begin", "supersede | canary"]);
    expect(told(world, first)).toEqual([
      "begin",
      "complete | rest",
      "begin",
      expect.stringMatching(/^undo \| alice \| \w+ \| to revision /),
      expect.stringMatching(/^complete \| \w+$/),
    ]);
  });

  test.each([
    ["nobody", "", "approve | canary | end of canary"],
    [
      "a long name with a space at its end",
      ` ${"b".repeat(99)} smith`,
      `approve | ${"b".repeat(99)} | canary | end of canary`,
    ],
  ])("has an approval by %s once, as it is read again", (_, user, entry) => {
    const world = completeWorld();
    world.edit({ ...next, rollout: rolloutWith(gated) });
    world.run(["AwaitingApproval"]);
    world.annotate(`${steering.approve}canary-after`, `${updateOf(world)}${user}`);
    for (let round = 0; round < 3; round += 1) {
      world.settle();
      world.revisions = world.revisions.map((one) => ({
        ...one,
        record: recordOf(JSON.stringify(one.record)),
      }));
    }
    expect(told(world).filter((one) => one.startsWith("approve"))).toEqual([entry]);
  });

  test("has an approval once, when the rollout is tried again", () => {
    const world = completeWorld({}, ["rest-1", "rest-2", "rest-3"]);
    world.edit({ ...next, rollout: rolloutWith(gated) });
    world.run(["AwaitingApproval"]);
    world.annotate(`${steering.approve}canary-after`, `${updateOf(world)} ann`);
    world.run(["Halted"]);
    world.pass(60_000);
    world.annotate(steering.retry, updateOf(world));
    world.run(["Halted"]);
    expect(told(world).filter((one) => one.startsWith("approve"))).toHaveLength(1);
    expect(told(world)).toContain("retry | rest");
  });

  test("has a pause in the revision that was paused, and its end in the one that goes on", () => {
    const world = completeWorld();
    const first = updateOf(world);
    world.edit(next);
    world.settle();
    const second = updateOf(world);
    world.annotate(steering.pause, "incident 7");
    world.settle();
    world.edit({ template: { spec: { version: "1.22.0" } } });
    world.settle();
    expect(told(world, first).slice(2)).toEqual(["begin"]);
    world.annotate(steering.pause, undefined);
    world.settle();
    expect(told(world, first)[3]).toMatch(/^resume/);
    world.edit(next);
    world.settle();
    expect(told(world, second)).toEqual([
      "begin",
      "pause | canary | incident 7",
      expect.stringMatching(/^supersede/),
      "begin",
    ]);
  });

  test("has what was skipped and ended by hand, once, without a user", () => {
    const world = completeWorld({}, ["canary-1"]);
    world.edit(next);
    world.run(["Halted"]);
    const revision = updateOf(world);
    const lines = () => told(world).filter((one) => /^(?:skip|abort)/.test(one));
    world.annotate(steering.skipClusters, `${revision} fleet/canary-1`);
    world.settle();
    world.settle();
    expect(lines()).toEqual(["skip | canary | cluster fleet/canary-1"]);
    // By the command, which adds to the annotation and says who did it.
    world.annotate(steering.skipClusters, `${revision} fleet/canary-1 fleet/rest-1`);
    did(world, "skip", { subject: "cluster fleet/rest-1", reason: "dead" });
    world.settle();
    world.annotate(steering.abort, `${revision} wrong registry`);
    world.settle();
    world.settle();
    expect(lines().slice(1)).toEqual([
      expect.stringMatching(/^skip \| alice \| \w+ \| cluster fleet\/rest-1 \| dead$/),
      expect.stringMatching(/^abort \| \w+ \| wrong registry$/),
    ]);
    world.annotate(steering.retry, revision);
    world.settle();
    expect(lines()).toHaveLength(3);
    world.annotate(steering.abort, revision);
    world.settle();
    expect(lines()[3]).toMatch(/^abort \| \w+$/);
  });

  test("has no end of a rollout that is complete", () => {
    const world = completeWorld();
    world.annotate(steering.abort, `${updateOf(world)} too late`);
    world.settle();
    expect(told(world).filter((one) => one.startsWith("abort"))).toEqual([]);
  });

  test("has as many names as fit, also of an annotation that is as long as Kubernetes allows", () => {
    const world = completeWorld();
    world.edit(next);
    world.settle();
    const names = Array.from({ length: 20_000 }, (_, at) => `fleet/${at}`);
    world.annotate(steering.skipClusters, [updateOf(world), ...names].join(" "));
    world.settle();
    world.settle();
    const skips = told(world).filter((one) => one.startsWith("skip"));
    expect(skips).toEqual([
      expect.stringMatching(/ clusters fleet\/0, fleet\/1, .* and 199\d\d more$/),
    ]);
  });

  test("has many clusters that were skipped by hand as one entry, and none when it is full", () => {
    const world = completeWorld();
    world.edit(next);
    world.settle();
    const revision = updateOf(world);
    const names = Array.from({ length: 200 }, (_, at) => `fleet/rest-${at}`);
    world.annotate(steering.skipClusters, [revision, ...names].join(" "));
    world.settle();
    world.settle();
    const skips = () => told(world).filter((one) => one.startsWith("skip"));
    // Whole names, because half of one may be the name of another cluster.
    expect(skips()).toEqual([
      expect.stringMatching(
        /\| clusters fleet\/rest-0, fleet\/rest-1, (?:fleet\/rest-\d+,? )+and \d+ more$/,
      ),
    ]);
    const [, shown = "", more = "0"] = /clusters (.*) and (\d+) more$/.exec(skips()[0] ?? "") ?? [];
    expect(names.slice(0, 200 - Number(more)).join(", ")).toBe(shown);
    // One that is named behind the end of the text is news, too.
    world.annotate(steering.skipClusters, [revision, ...names, "fleet/rest-200"].join(" "));
    world.settle();
    world.settle();
    expect(skips()).toHaveLength(2);
    for (let at = 0; at < 60; at += 1) {
      did(world, "retry", { reason: `${at}` });
      world.settle();
      world.pass(1_000);
    }
    world.annotate(steering.skipStages, `${revision} rest`);
    world.settle();
    expect(skips()).toEqual([]);
  });

  test.each([
    ["nonsense", "{}"],
    ["pause", "{"],
    ["approve", "{}"],
  ])("leaves no annotation did.%s on the set: %s", (what, text) => {
    const world = completeWorld();
    const before = told(world);
    world.annotate(`${steering.did}${what}`, text);
    world.settle();
    expect(world.set.metadata.annotations).toEqual({});
    expect(told(world)).toEqual(before);
  });

  test("takes an approval from its own annotation only", () => {
    const world = completeWorld();
    world.edit(next);
    did(world, "approve", { subject: "end of canary" });
    world.settle();
    expect(told(world)).toEqual(["begin"]);
  });

  test("keeps its first entry and the newest, 50 in all, and is plain and short", () => {
    const at = "2026-11-25T12:00:00Z";
    const many = Array.from({ length: 80 }, (_, index) => ({
      what: "pause" as const,
      at,
      reason: `${index}`,
    }));
    const record = withEntries([{ what: "begin", at }], many);
    expect(record).toHaveLength(50);
    expect(record[0]?.what).toBe("begin");
    expect(record.at(-1)?.reason).toBe("79");
    const lie = JSON.stringify([
      { what: "pause", at, user: "\u001b[31mroot", reason: "x".repeat(5_000) },
      { what: "nonsense", at },
      { what: "pause", at: "no time" },
      "text",
    ]);
    expect(recordOf(lie)).toEqual([
      { what: "pause", at, user: "root", reason: `${"x".repeat(297)}…` },
    ]);
    expect(recordOf("{")).toEqual([]);
    expect(revisionAnnotations.record).toBe("knfleet.dev/record");
  });
});
