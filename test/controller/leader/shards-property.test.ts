import * as fc from "fast-check";
import { expect, test } from "vitest";

import { FakeClock } from "../../support/fake-clock.ts";
import { runsOf } from "../../support/fuzz.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { overlapsOf, passing, Replica } from "./replicas.ts";

/** What may happen to replicas. `of` chooses one of them. */
const deed = fc.record({
  what: fc.constantFrom("start", "kill", "terminate", "stop", "continue", "cut", "join", "delete"),
  of: fc.nat({ max: 5 }),
  shards: fc.constantFrom(1, 3, 3, 3, 4),
  afterMs: fc.nat({ max: 20_000 }),
});

type Deed = typeof deed extends fc.Arbitrary<infer T> ? T : never;

const most = 6;

class World {
  readonly clock = new FakeClock();
  readonly hub = new MemoryHub();
  readonly replicas: Replica[] = [];
  readonly #requestMs: () => number;

  constructor(requestMs: () => number) {
    this.#requestMs = requestMs;
  }

  start(shards: number): void {
    const identity = `replica-${this.replicas.length}`;
    const options = { shards, workMs: 500, requestMs: this.#requestMs, isServed: true };
    this.replicas.push(new Replica(identity, this, options));
  }

  act({ what, of, shards }: Deed): void {
    const alive = this.replicas.filter(({ isDead }) => !isDead);
    if (what === "start") {
      if (alive.length < most) this.start(shards);
      return;
    }
    const replica = alive[of % Math.max(1, alive.length)];
    if (replica === undefined) return;
    if (what === "kill") replica.kill();
    else if (what === "terminate") void replica.terminate();
    else if (what === "stop") replica.stop();
    else if (what === "continue") replica.continue();
    else if (what === "delete") this.#deleteLease(of);
    else replica.cut(what === "cut");
  }

  /** Somebody deletes one of the Leases. */
  #deleteLease(which: number): void {
    const leases = this.hub.all("Lease");
    const lease = leases[which % Math.max(1, leases.length)];
    if (lease !== undefined) this.hub.drop("Lease", lease.metadata.name);
  }

  async pass(ms: number): Promise<void> {
    const check = (): void => expect(overlapsOf(this.replicas)).toEqual([]);
    await passing(this.clock, { ms }, check);
  }

  /** Heals everything, and ends all replicas with another number of shards. */
  settle(shards: number): void {
    for (const replica of this.replicas.filter(({ isDead }) => !isDead)) {
      replica.cut(false);
      replica.continue();
      if (replica.shards !== shards) void replica.terminate();
    }
    this.start(shards);
  }
}

test("never do two replicas write for one shard, whatever happens; all shards are held again within a minute", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(deed, { minLength: 5, maxLength: 25 }),
      fc.infiniteStream(fc.nat({ max: 1_500 })),
      fc.constantFrom(1, 3, 4),
      async (deeds, delays, shards) => {
        const world = new World(() => delays.next().value ?? 0);
        for (const one of deeds) {
          world.act(one);
          await world.pass(one.afterMs);
        }
        world.settle(shards);
        await world.pass(60_000);
        const held = world.replicas.flatMap((replica) => replica.held.map(String));
        expect(held.toSorted()).toEqual([...Array(shards).keys(), "fleet"].map(String).toSorted());
      },
    ),
    { numRuns: runsOf(160) },
  );
}, 120_000);
