import { expect, test } from "vitest";

import { NotTakenMemory } from "../../../controller/sets/not-taken.ts";
import type { Obstacle } from "../../../sets/facts.ts";
import { SetWorld } from "../../sets/set-world.ts";

const refusal: Obstacle = { reason: "Refused", message: "denied by a policy" };
const { set } = new SetWorld({}, []);
const minute = 60_000;

function remember(memory: NotTakenMemory, cluster: string, now: number): void {
  const refused = new Map([[cluster, refusal]]);
  memory.remember(set, { refused, failed: new Map(), errors: [] }, now);
}

function clustersAt(memory: NotTakenMemory, now: number, of = set): readonly string[] {
  return [...memory.refusals(of, now).keys()];
}

test("a refused component is sent again after five minutes, and not before", () => {
  const memory = new NotTakenMemory();
  remember(memory, "fleet/a", 1_000);
  expect(clustersAt(memory, 1_000 + 5 * minute - 1)).toEqual(["fleet/a"]);
  expect(clustersAt(memory, 1_000 + 5 * minute)).toEqual([]);
});

test("a refused component is sent again when what was refused is gone", () => {
  const memory = new NotTakenMemory();
  remember(memory, "fleet/a", 0);
  remember(memory, "fleet/b", 0);
  memory.forget("fleet/a");
  expect(clustersAt(memory, 1)).toEqual(["fleet/b"]);
});

test.each([
  { name: "another spec of the set", metadata: { ...set.metadata, generation: 2 } },
  { name: "another set of the same name", metadata: { ...set.metadata, uid: "other" } },
])("a refusal does not count for $name", ({ metadata }) => {
  const memory = new NotTakenMemory();
  remember(memory, "fleet/a", 0);
  expect(clustersAt(memory, 1, { ...set, metadata })).toEqual([]);
  // It is forgotten, and not only left out.
  expect(clustersAt(memory, 1)).toEqual([]);
});

test("a set without a generation has one spec", () => {
  const { generation: _, ...metadata } = set.metadata;
  const bare = { ...set, metadata };
  const memory = new NotTakenMemory();
  const refused = new Map([["fleet/a", refusal]]);
  memory.remember(bare, { refused, failed: new Map(), errors: [] }, 0);
  expect(memory.refusals(bare, 1)).toEqual(refused);
  expect(clustersAt(memory, 1, { ...bare, metadata: { ...metadata, generation: 0 } })).toEqual([
    "fleet/a",
  ]);
});

test("the next look is due when the first of several refusals is over", () => {
  const memory = new NotTakenMemory();
  expect(memory.dueAt).toBe(Infinity);
  remember(memory, "fleet/a", 0);
  remember(memory, "fleet/b", minute);
  expect(memory.dueAt).toBe(5 * minute);
  expect(clustersAt(memory, 5 * minute)).toEqual(["fleet/b"]);
  expect(memory.dueAt).toBe(6 * minute);
});

test("only the failures of the last look are kept", () => {
  const memory = new NotTakenMemory();
  const failed = new Map([["fleet/a", "no answer"]]);
  memory.remember(set, { refused: new Map(), failed, errors: [] }, 0);
  expect(memory.failed).toEqual(failed);
  memory.remember(set, { refused: new Map(), failed: new Map(), errors: [] }, 1);
  expect(memory.failed.size).toBe(0);
});
