import { beforeEach, expect, test } from "vitest";

import { recordAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { partLease, shardOf } from "../../../api/shards.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { overlapsOf, passing, Replica, type ReplicaOptions } from "./replicas.ts";

let clock: FakeClock;
let hub: MemoryHub;
let replicas: Replica[];

beforeEach(() => {
  clock = new FakeClock();
  hub = new MemoryHub();
  replicas = [];
});

function start(identity: string, options: ReplicaOptions): Replica {
  const replica = new Replica(identity, { clock, hub }, options);
  replicas.push(replica);
  return replica;
}

/** Lets seconds pass; never may two replicas write for one part. */
function pass(seconds: number): Promise<void> {
  return passing(clock, { ms: seconds * 1_000 }, assertNoOverlap);
}

function assertNoOverlap(): void {
  expect(overlapsOf(replicas)).toEqual([]);
}

function shardsOf(replica: Replica): number {
  return replica.held.filter((part) => part !== "fleet").length;
}

/** The parts that replicas hold, in order. */
function allHeld(): string {
  return byName(replicas.flatMap((replica) => replica.held));
}

function byName(values: readonly unknown[]): string {
  return values.map(String).toSorted().join(" ");
}

test.each([
  { target: "", of: 64, shard: 44 },
  { target: "fleet/spoke-1", of: 64, shard: 34 },
  { target: "fleet/spoke-2", of: 64, shard: 15 },
  { target: "fleet/spoke-2", of: 1, shard: 0 },
])("the shard of $target of $of is $shard, for ever", ({ target, of, shard }) => {
  expect(shardOf(target, of)).toBe(shard);
});

test("a thousand clusters spread evenly over the shards", () => {
  for (const shards of [2, 3, 8, 12, 32]) {
    const counts = Array<number>(shards).fill(0);
    for (let n = 0; n < 1_000; n += 1) {
      const shard = shardOf(`fleet/spoke-${String(n).padStart(4, "0")}`, shards);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.max(...counts)).toBeLessThan((1.6 * 1_000) / shards);
    expect(Math.min(...counts)).toBeGreaterThan((0.5 * 1_000) / shards);
  }
});

test("the first replica takes all shards, and the second gets half of them", async () => {
  const first = start("one", { shards: 4 });
  await pass(1);
  expect(allHeld()).toBe("0 1 2 3 fleet");
  const second = start("two", { shards: 4 });
  await pass(5);
  expect([shardsOf(first), shardsOf(second)]).toEqual([2, 2]);
  expect(allHeld()).toBe("0 1 2 3 fleet");
});

test("replicas that began at once do not go on asking at once", async () => {
  const askedAt = new Map<string, Set<number>>();
  for (const identity of ["one", "two"]) {
    const times = new Set<number>();
    askedAt.set(identity, times);
    const requestMs = (): number => {
      times.add(Math.round(clock.now()));
      return 0;
    };
    start(identity, { shards: 2, requestMs });
  }
  await pass(60);
  const [one = new Set(), two = new Set()] = askedAt.values();
  expect(one.size).toBeGreaterThan(10);
  expect(one.intersection(two).size).toBeLessThan(one.size / 2);
});

test("three replicas share four shards as evenly as possible, and each holds at least one", async () => {
  for (const identity of ["one", "two", "three"]) start(identity, { shards: 4 });
  await pass(20);
  expect(byName(replicas.map(shardsOf))).toBe("1 1 2");
  expect(allHeld()).toBe("0 1 2 3 fleet");
});

test("a shard is released only after its work has ended, and its work begins only when it is held", async () => {
  const first = start("one", { shards: 2, workMs: 3_000 });
  await pass(10);
  const second = start("two", { shards: 2, workMs: 3_000 });
  await pass(20);
  const [handedOver] = second.held;
  expect(first.log).toEqual(["begin 0 1 fleet", `end ${handedOver}, held`]);
  expect(second.log).toEqual([`begin ${handedOver}`]);
});

test("a replica that stops releases its shards, and the others take them at once", async () => {
  const first = start("one", { shards: 4 });
  const second = start("two", { shards: 4 });
  await pass(20);
  await first.terminate();
  await pass(1);
  expect(shardsOf(second)).toBe(4);
  expect(hub.all("Lease").filter(({ metadata }) => metadata.name.includes("member"))).toHaveLength(
    1,
  );
});

test("a replica that stops while it takes a shard leaves no Lease behind that it holds, whenever it stops", async () => {
  for (let stopAt = 0; stopAt < 1_200; stopAt += 50) {
    hub = new MemoryHub();
    replicas = [];
    const first = start("one", { shards: 2 });
    const second = start("two", { shards: 2, requestMs: () => 100 });
    await pass(20);
    await first.terminate();
    await clock.advance(stopAt);
    const ended = second.terminate();
    await pass(10);
    await ended;
    const held = hub.all("Lease").filter((lease) => holderOf(lease) !== "");
    expect([stopAt, held.map(({ metadata }) => metadata.name)]).toEqual([stopAt, []]);
  }
});

function holderOf(lease: KubeObject): unknown {
  return recordAt(lease, "spec")["holderIdentity"];
}

test("the shards of a replica that was killed are held again within 20 s", async () => {
  const first = start("one", { shards: 4 });
  start("two", { shards: 4 });
  start("three", { shards: 4 });
  await pass(20);
  first.kill();
  await pass(20);
  expect(allHeld()).toBe("0 1 2 3 fleet");
});

test("a replica that was stopped for 30 s may write nothing when it goes on, and ends", async () => {
  const first = start("one", { shards: 4 });
  const second = start("two", { shards: 4 });
  await pass(20);
  first.stop();
  await pass(30);
  expect(shardsOf(second)).toBe(4);
  first.continue();
  expect(first.held).toEqual([]);
  await pass(5);
  expect(first.isDead).toBe(true);
  expect(allHeld()).toBe("0 1 2 3 fleet");
});

test("a replica without the hub stops to write in 10 s, and the other one takes its shards", async () => {
  const first = start("one", { shards: 4 });
  const second = start("two", { shards: 4 });
  await pass(20);
  first.cut(true);
  await pass(10);
  expect(first.held).toEqual([]);
  await pass(12);
  expect(shardsOf(second)).toBe(4);
});

test("a replica whose Leases cannot be read keeps what it holds", async () => {
  const first = start("one", { shards: 2 });
  await pass(10);
  hub.fail();
  await pass(6);
  hub.work();
  await pass(5);
  expect(shardsOf(first)).toBe(2);
});

test("another number of shards begins when the last Lease of the old number is released", async () => {
  const old = [start("old-1", { shards: 2 }), start("old-2", { shards: 2 })];
  await pass(10);
  const next = start("next", { shards: 3 });
  await pass(20);
  expect(next.held).toEqual([]);
  await old[0]?.terminate();
  await pass(5);
  expect(next.held).toEqual([]);
  await old[1]?.terminate();
  await pass(3);
  expect(next.held).toEqual([0, 1, 2, "fleet"]);
});

test.each([
  { from: 1, to: 3 },
  { from: 3, to: 1 },
])("from $from to $to shards: the new replica waits until the old one stops", async (change) => {
  const old = start("old", { shards: change.from });
  await pass(10);
  const next = start("next", { shards: change.to });
  await pass(30);
  expect(next.held).toEqual([]);
  expect(shardsOf(old)).toBe(change.from);
  await old.terminate();
  await pass(3);
  expect(shardsOf(next)).toBe(change.to);
});

test.each([
  { from: 1, to: 3 },
  { from: 3, to: 1 },
  { from: 2, to: 3 },
])("from $from to $to shards: the new replica waits for a killed one's Leases", async (change) => {
  const old = start("old", { shards: change.from });
  await pass(10);
  start("next", { shards: change.to });
  old.kill();
  await pass(12);
  expect(replicas.flatMap(({ held }) => held)).toEqual([]);
  await pass(8);
  expect(replicas.flatMap(({ held }) => held)).not.toEqual([]);
});

test("two numbers of shards that begin at once never both work", async () => {
  start("a", { shards: 1 });
  start("b", { shards: 2 });
  start("c", { shards: 3 });
  await pass(60);
  expect(replicas.filter(({ held }) => held.length > 0)).toHaveLength(1);
});

test("a Lease that somebody deletes stays its holder's", async () => {
  const first = start("one", { shards: 2 });
  start("two", { shards: 2 });
  await pass(10);
  const [shard = 0] = first.held;
  hub.drop("Lease", partLease(shard, 2));
  await pass(20);
  expect(first.held).toContain(shard);
});

test("the Leases of replicas that died are removed", async () => {
  start("one", { shards: 2 }).kill();
  start("two", { shards: 2 });
  const dead = start("three", { shards: 2 });
  await pass(5);
  dead.kill();
  await pass(150);
  const members = hub.all("Lease").filter(({ metadata }) => metadata.name.includes("member"));
  expect(members).toHaveLength(1);
});
