import { afterAll, beforeAll, expect, test } from "vitest";

import { useFleet } from "../../fleet/use-fleet.ts";
import { tableOf } from "../table.ts";
import { isStamp, roll, type Rolled } from "./roll.ts";
import { type SetBench, spokesOfSets, startSetBench } from "./set-bench.ts";
import { sweepSets } from "./set-sweep.ts";

const fleet = useFleet({ spokes: spokesOfSets });
let bench: SetBench | undefined;
let usual: Rolled;

beforeAll(async () => {
  bench = await startSetBench(fleet(), (line) => console.error(line));
  usual = await roll(bench, []);
}, 1_800_000);
afterAll(async () => bench?.[Symbol.asyncDispose]());

test("a rollout writes twice for each cluster, once for each stage that others follow, and three times for itself", () => {
  console.error(`First stamp ${usual.firstStampMs} ms after the change of the set`);
  const count = (isMeant: (write: (typeof usual.writes)[number]) => boolean): number =>
    usual.writes.filter(isMeant).length;
  expect({
    stamps: count(isStamp),
    // One before each stamp, and the last one, which says Complete.
    statuses: count(({ subresource }) => subresource === "status"),
    // It begins, has passed the first of its two stages, and is complete.
    revisions: count(({ resource }) => resource === "controllerrevisions"),
    all: usual.writes.length,
  }).toEqual({ stamps: 3, statuses: 4, revisions: 3, all: 2 * 3 + 1 + 3 });
  expect(usual.broken).toEqual([]);
});

// More than 15 s: a rollout makes ten writes, and after each of them another controller starts.
test("C1: a set that is rolled out by controllers of which each dies after its first write ends in the same state, within its limits at all times", async () => {
  if (bench === undefined) throw new Error("The bench exists only in tests");
  const results = await sweepSets(bench, { sample: 1 }, usual);
  console.error(tableOf(results, 0));
  expect(results).toMatchObject([{ id: "C1", survived: true }]);
}, 600_000);
