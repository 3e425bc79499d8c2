import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { isRecord } from "../../../api/fields.ts";
import { type FleetSetStatus, steering } from "../../../api/fleet-set.ts";
import { fleetSetStatus } from "../../../api/schema/fleet-set-status.ts";
import { decide } from "../../../sets/decide.ts";
import type { SetFacts } from "../../../sets/facts.ts";
import { lieIn, lyingText } from "../../support/lying-text.ts";
import { decided } from "../cases/decided.ts";
import { largeFacts, largeNow } from "../large-set.ts";
import { completeWorld, next, updateOf } from "../two-rings.ts";

const validate = new Ajv({
  strict: true,
  allErrors: true,
  keywords: ["x-kubernetes-list-type", "x-kubernetes-list-map-keys"],
  formats: { int32: true, int64: true },
}).compile(closed(fleetSetStatus));

/** The schema with no other fields than its own. */
function closed(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const inner = Object.entries(schema).map(([name, value]) => {
    if (!isRecord(value)) return [name, value];
    const fields = Object.entries(value).map(([field, one]) => [
      field,
      isRecord(one) ? closed(one) : one,
    ]);
    return [name, name === "properties" ? Object.fromEntries(fields) : closed(value)];
  });
  const isObject = isRecord(schema["properties"]);
  return { ...Object.fromEntries(inner), ...(isObject ? { additionalProperties: false } : {}) };
}

function problemsIn(status: FleetSetStatus): readonly unknown[] {
  return validate(status) ? [] : (validate.errors ?? []);
}

function bytesOf(status: FleetSetStatus): number {
  return Buffer.byteLength(JSON.stringify(status));
}

function withStatus(facts: SetFacts, status: FleetSetStatus): SetFacts {
  return { ...facts, set: { ...facts.set, status } };
}

const stageNameOf = (at: number): string => `${at}-`.padEnd(40, "s");

/** 32 stages that all say as much as a stage can, in 10,000 clusters with the longest names; many failed with this message. */
function worstFacts(message: string): SetFacts {
  const facts = largeFacts(10_000, {
    stages: 32,
    namespace: "n".repeat(63),
    nameOf: (at) => `${at}-`.padEnd(253, "c"),
    stageNameOf,
    stageFields: { maxFailures: 0, after: { approval: true } },
    message,
    failed: 200,
  });
  const time = "2026-11-25T11:00:00.000Z";
  const stages = Array.from({ length: 32 }, (_, at) => ({
    name: stageNameOf(at),
    state: at < 31 ? ("Passed" as const) : ("Rolling" as const),
    clusters: 313,
    done: 313,
    failed: 0,
    updating: 0,
    unreachable: 0,
    startSize: 10_000,
    startedAt: time,
    doneAt: time,
    approvedBy: "名".repeat(33),
  }));
  const updateRevision = facts.revisions.at(-1)?.name ?? "";
  const rollout = { resumedAt: time, startedAt: time, failedRevision: updateRevision } as const;
  const approvals = stages.map(({ name }) => [
    `${steering.approve}${name}-after`,
    `${updateRevision} ${"名".repeat(500)}`,
  ]);
  const annotations = Object.fromEntries(approvals);
  const { metadata } = facts.set;
  const set = { ...facts.set, metadata: { ...metadata, annotations } };
  return withStatus({ ...facts, set }, { updateRevision, stages, rollout });
}

describe("P13: the status of 10,000 clusters in 32 stages", () => {
  test.each([
    ["of letters", "x".repeat(2_000)],
    ["of characters of three bytes", "警".repeat(2_000)],
    ["of characters of four bytes", "🚨".repeat(2_000)],
    ["of quotation marks", '"'.repeat(2_000)],
    ["of control characters", "\u0001".repeat(2_000)],
  ])("is below 32 KiB with the longest messages, %s", (_, message) => {
    const { status } = decide(worstFacts(message), largeNow);
    expect(status.notable).toHaveLength(20);
    expect(status.stages).toHaveLength(32);
    expect(bytesOf(status)).toBeLessThan(32 * 1_024);
    expect(problemsIn(status)).toEqual([]);
    // A character that is cut in two would come back from the API server as another one.
    expect(JSON.stringify(status)).not.toMatch(/\\ud[89a-f]/i);
  });

  test("does not grow with the clusters", () => {
    const [thousand = 0, tenThousand = 0] = [1_000, 10_000].map((count) =>
      bytesOf(decide(largeFacts(count, { failed: 200 }), largeNow).status),
    );
    expect(tenThousand - thousand).toBeLessThan(100);
  });
});

/** All texts of a status. */
function texts(value: unknown): string {
  if (typeof value === "string") return `${value} `;
  return typeof value === "object" && value !== null
    ? Object.values(value).map(texts).join("")
    : "";
}

function messageOf(message: string): string | undefined {
  return decide(largeFacts(200, { failed: 3, message }), largeNow).status.notable?.[0]?.message;
}

describe("what a decision writes into the status", () => {
  test("is what the schema has, in every phase", () => {
    const world = completeWorld({ onFailure: "Rollback" }, ["rest-1", "rest-2", "rest-3"]);
    const phases = new Set<string>();
    const check = (): void => {
      const { status } = world.decide();
      phases.add(status.rollout?.phase ?? "");
      expect(problemsIn(status)).toEqual([]);
    };
    check();
    world.edit(next);
    for (let round = 0; round < 300; round += 1) {
      world.write(world.decide());
      check();
      world.pass(10_000);
    }
    world.selection = { kind: "unusable", reason: "PlacementNotFound", message: "No Placement" };
    check();
    world.selection = undefined;
    world.annotate(steering.pause, "wait");
    check();
    expect([...phases]).toEqual(
      expect.arrayContaining(["Complete", "Rolling", "RollingBack", "RolledBack", "Blocked"]),
    );
  });

  test("has times in whole seconds, as Kubernetes writes them", () => {
    const facts = largeFacts(200, { stages: 2 });
    const { stages, rollout } = decide(facts, largeNow + 789).status;
    const times = [rollout?.startedAt, ...(stages ?? []).map(({ startedAt }) => startedAt)];
    const known = times.filter((time) => time !== undefined);
    expect(known.length).toBeGreaterThan(1);
    for (const time of known) expect(time).toMatch(/T\d\d:\d\d:\d\dZ$/);
  });

  test("is plain, whatever the clusters say", () => {
    const { status } = decide(largeFacts(200, { failed: 3, message: lyingText }), largeNow);
    expect(status.notable?.[0]?.message).toMatch(/^red over written/);
    expect(lieIn(texts(status))).toEqual([]);
    const world = completeWorld();
    world.selection = { kind: "unusable", reason: "PlacementNotFound", message: lyingText };
    const { status: unusable } = world.decide();
    expect(unusable.rollout?.waitingFor).toMatch(/^red over written/);
    expect(lieIn(texts(unusable))).toEqual([]);
  });

  test("cuts a long message after a whole word, and leaves one that fits as it is", () => {
    const cut = messageOf("not ready ".repeat(200)) ?? "";
    expect(cut).toMatch(/ (?:not|ready)…$/);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(300);
    expect(messageOf("x".repeat(2_000))).toBe(`${"x".repeat(297)}…`);
    expect(messageOf("x".repeat(300))).toBe("x".repeat(300));
  });

  test("is byte for byte the same when nothing has changed", () => {
    const facts = largeFacts(200, { failed: 3 });
    const { status } = decide(facts, largeNow);
    const again = decide(withStatus(facts, status), largeNow + 1_000);
    expect(JSON.stringify(again.status)).toBe(JSON.stringify(status));
    const world = completeWorld();
    const bytes = JSON.stringify(world.set.status);
    world.pass(3_600_000);
    expect(JSON.stringify(world.decide().status)).toBe(bytes);
    expect(world.set.status?.currentRevision).toBe(updateOf(world));
  });

  test("counts what is stamped as updating, so that a stamp needs no status of its own", () => {
    expect(decided({ name: "", clusters: { rest: "old old old" }, expect: {} }).clusters).toBe(
      "1 pending, 2 updating",
    );
  });
});

/** The conditions of kstatus in a status, such as `Stalled True Halted`. */
function kstatusIn({ conditions = [] }: FleetSetStatus): string {
  return conditions
    .filter(({ type }) => type === "Stalled" || type === "Reconciling")
    .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    .join(", ");
}

test("kstatus reads a halt, a rollback and an unusable selection as failed, and what is done or paused as neither", () => {
  const world = completeWorld({ onFailure: "Rollback" }, ["rest-1", "rest-2", "rest-3"]);
  const seen = new Map<string, string>();
  const look = (): void => {
    const { status, mark } = world.decide();
    if (mark === undefined) seen.set(status.rollout?.phase ?? "", kstatusIn(status));
  };
  look();
  world.edit(next);
  for (let round = 0; round < 500 && !seen.has("RolledBack"); round += 1) {
    world.write(world.decide());
    look();
    world.pass(10_000);
  }
  // Written, so that the next look has to take the condition off.
  world.settle();
  world.annotate(steering.pause, "incident");
  look();
  world.annotate(steering.pause, undefined);
  world.selection = { kind: "unusable", reason: "PlacementNotFound", message: "No Placement" };
  look();
  world.set = {
    ...world.set,
    metadata: { ...world.set.metadata, deletionTimestamp: "2026-11-25T12:00:00Z" },
  };
  expect(kstatusIn(world.decide().status)).toBe("");
  const halted = completeWorld({}, ["rest-1", "rest-2", "rest-3"]);
  halted.edit(next);
  expect(kstatusIn(halted.run(["Halted"]).status)).toBe("Stalled True Halted");
  expect(Object.fromEntries(seen)).toMatchObject({
    Complete: "",
    Rolling: "Reconciling True Rolling",
    RollingBack: "Reconciling True RollingBack",
    RolledBack: "Stalled True RolledBack",
    Paused: "",
    Blocked: "Stalled True PlacementNotFound",
  });
});

test("a ready cluster with workloads at zero is named last, and the set stays ready and healthy with that reason", () => {
  const world = completeWorld();
  const scaleOn = (cluster: string): void => {
    const child = world.children.get(`fleet/${cluster}`);
    if (child === undefined) throw new Error(`No component on ${cluster}`);
    const message = "Scaled to zero: activator";
    const scaled = {
      type: "DeploymentsAvailable",
      status: "True",
      reason: "ScaledToZero",
      message,
    };
    const conditions = [
      ...(child.status?.conditions ?? []).filter(({ type }) => type !== scaled.type),
      { ...scaled, status: "True" as const },
    ];
    world.children.set(`fleet/${cluster}`, { ...child, status: { ...child.status, conditions } });
  };
  scaleOn("rest-2");
  const { notable, conditions, clusters } = world.decide().status;
  const message = "Scaled to zero: activator";
  expect(notable).toMatchObject([
    { cluster: "fleet/rest-2", state: "Done", reason: "ScaledToZero", message },
  ]);
  expect(clusters).toMatchObject({ done: 7 });
  const of = (type: string) => conditionOf(conditions, type);
  expect(of("Healthy")).toMatchObject({
    status: "True",
    reason: "ScaledToZero",
    message: `fleet/rest-2: ${message}`,
  });
  expect(of("Ready")).toMatchObject({ status: "True" });

  world.obstacles.set("fleet/canary-1", { reason: "NotPermitted", message: "No" });
  const worse = world.decide().status;
  expect(worse.notable?.map(({ state }) => state)).toEqual(["Blocked", "Done"]);
  expect(conditionOf(worse.conditions, "Healthy")).toMatchObject({ status: "False" });
});
