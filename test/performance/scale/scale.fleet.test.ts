import { afterAll, beforeAll, expect, test } from "vitest";

import { sampleDirOf } from "../../../cmd/release-files.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { createEverything, repairTenth, rest, startCold } from "./experiments.ts";
import { killOne } from "./replicas.ts";
import { type ScaleFleet, startControllers, startScaleFleet } from "./scale-fleet.ts";
import { askForStatus } from "./status-of-all.ts";

const fleet = useFleet({ spokes: [] });
const spokes = 10;
const say = (line: string): void => console.error(line);
let scale: ScaleFleet;
let running: Awaited<ReturnType<typeof startControllers>> | undefined;

beforeAll(async () => {
  scale = await startScaleFleet(fleet(), { spokes, releases: sampleDirOf() }, say);
}, 1_800_000);

afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  await scale[Symbol.asyncDispose]();
});

/** The requests to each spoke that changed something, each way once: one when all spokes were written to alike. */
function kindsOfWrites(): readonly (readonly string[])[] {
  const all = scale.spokes.map(({ traffic }) =>
    [...traffic.writeCounts].map(([name, count]) => `${count} ${name}`).toSorted(),
  );
  return [...new Map(all.map((writes) => [writes.join(), writes])).values()];
}

// More than 15 s on a busy machine: twenty installations.
test("both components on 10 spokes: each spoke is written to alike, by one writer, and the hub a few times for each", async () => {
  await using first = await startControllers(scale);
  const created = await createEverything(first);
  expect(kindsOfWrites()).toHaveLength(1);
  expect(created.spokeWrites).toBe((scale.spokes[0]?.traffic.writes ?? 0) * spokes);
  expect(created.doubleWrites).toBe(0);
  // First conditions, finalizer, result, guard; on a busy machine that the cluster answers, a wait of more than five seconds, or Deployments that became available later.
  expect(created.hubWrites).toBeLessThanOrEqual(7 * spokes * 2);
});

test("a controller that starts again writes nothing, and opens each watch of a spoke twice at most", async () => {
  const { experiment, running: second } = await startCold(scale);
  running = second;
  expect(experiment).toMatchObject({ spokeWrites: 0, hubWrites: 0 });
  // The second component on a spoke lets the watches begin again.
  const asked = scale.spokes.map(({ traffic }) => traffic.counts.get("watch deployments") ?? 0);
  expect(asked.every((count) => count === 1 || count === 2)).toBe(true);
});

// More than 15 s: ten for what still comes after an install, and fifteen in which nothing may come.
test("while nothing happens there are no requests but watches and checks", async () => {
  if (running === undefined) throw new Error("There is no controller");
  const idle = await rest(running, { beforeMs: 10_000, ms: 15_000 });
  expect(idle).toMatchObject({ spokeRequests: 0, spokeWrites: 0, hubRequests: 0 });
});

test("an object that is lost on a tenth of the spokes comes back with one write each", async () => {
  if (running === undefined) throw new Error("There is no controller");
  const repaired = await repairTenth(running);
  expect(repaired).toMatchObject({ spokeWrites: spokes / 10, doubleWrites: 0, hubWrites: 0 });
  const writes = scale.spokes.map(({ traffic }) => traffic.writes);
  expect(writes.every((count) => count <= 1)).toBe(true);
});

test("kubectl knfleet status -A tells the answer of every spoke", async () => {
  expect(await askForStatus(scale)).toMatchObject({ spokes });
});

// More than 15 s: a Lease's time passes until the replicas know of each other, and again until the shares of the one that was killed are free.
test("of two replicas that share the fleet one is killed, and the other one serves its spokes, each of which has one writer", async () => {
  await running?.[Symbol.asyncDispose]();
  const { experiment, running: both } = await startCold(scale, { replicas: 2, shards: 4 });
  running = both;
  expect(experiment).toMatchObject({ spokeWrites: 0, doubleWrites: 0 });
  const killed = await killOne(both);
  const writes = scale.spokes.map(({ traffic }) => traffic.writes);
  expect(writes).toContain(1);
  expect(writes.every((count) => count <= 1)).toBe(true);
  expect(killed).toMatchObject({ doubleWrites: 0 });
});
