import { beforeEach, describe, expect, test } from "vitest";

import { objectId } from "../../../../api/keys.ts";
import {
  conflictMessage,
  type Conflicts,
  continueConflicts,
  currentConflicts,
  heldAt,
  isHolding,
  isInConflict,
  noConflicts,
  untilSureMs,
  withManagers,
  withoutRepair,
  withRepair,
  withWrong,
} from "../../../../controller/apply/filters/conflicts.ts";

const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
const id = objectId(key);
const wrong = new Set([id]);
const fine = new Set<string>();
const argo = { manager: "argocd-controller", fields: ["data.x"] };
const told = conflictMessage([{ key, managers: [argo], dueMs: 1 }]);
let conflicts: Conflicts;

beforeEach(() => {
  conflicts = noConflicts;
});

/** Counts a repair: whether the object is in conflict. */
function isContestedRepair(of: typeof key, now: number): boolean {
  conflicts = withRepair(conflicts, of, now);
  return isInConflict(conflicts, of);
}

/** Repairs the object at the given times, in seconds. */
function repairedAt(...times: readonly number[]): readonly boolean[] {
  return times.map((at) => isContestedRepair(key, at * 1_000));
}

/** Of the objects that are wrong now: those that are not to be repaired for a while. */
function heldAmong(objects: ReadonlySet<string>, now: number): ReadonlySet<string> {
  const held = heldAt(conflicts, now);
  conflicts = withWrong(conflicts, objects, { held, now });
  return objects.intersection(held);
}

function isHeldAt(seconds: number): boolean {
  return heldAmong(wrong, seconds * 1_000).has(id);
}

describe("a contest begins", () => {
  test("with the third repair of an object within a minute", () => {
    expect(repairedAt(0, 20, 50)).toEqual([false, false, true]);
    expect(currentConflicts(conflicts, 50_000)).toMatchObject([{ key, managers: [] }]);
  });

  test("not with three repairs in more than a minute", () => {
    expect(repairedAt(0, 30, 61, 95)).toEqual([false, false, false, false]);
    expect(currentConflicts(conflicts, 95_000)).toEqual([]);
  });

  test("with the first repair when it was told of before this memory began", () => {
    conflicts = continueConflicts(conflicts, `Secret ns/b: Contested by c: d; ${told}`, 0);
    expect(isContestedRepair({ ...key, name: "aa" }, 10_000)).toBe(false);
    expect(repairedAt(10)).toEqual([true]);
    expect(isHeldAt(19)).toBe(true);
  });

  test("not with the first repair a minute after that", () => {
    conflicts = continueConflicts(conflicts, told, 0);
    conflicts = continueConflicts(conflicts, told, 30_000);
    expect(repairedAt(60)).toEqual([false]);
  });

  test("not with repairs that were refused", () => {
    for (const at of [0, 1, 2, 3]) {
      expect(repairedAt(at)).toEqual([false]);
      conflicts = withoutRepair(conflicts, key);
    }
    expect(currentConflicts(conflicts, 3_000)).toEqual([]);
    expect(repairedAt(4, 5, 6)).toEqual([false, false, true]);
    conflicts = withoutRepair(conflicts, key);
    expect(isHeldAt(6.1)).toBe(false);
    expect(repairedAt(7)).toEqual([true]);
  });

  test("and holds the object from then on, until it is due or right again", () => {
    expect(isHolding(conflicts)).toBe(false);
    repairedAt(0, 1, 2);
    const holds = (what: ReadonlySet<string>, seconds: number): boolean => {
      heldAmong(what, seconds * 1_000);
      return isHolding(conflicts);
    };
    expect([holds(wrong, 3), holds(fine, 4), holds(wrong, 5), holds(wrong, 13)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  test("not with repairs of three objects", () => {
    const keys = ["a", "b", "c"].map((name) => ({ ...key, name }));
    expect(keys.map((one) => isContestedRepair(one, 0))).toEqual([false, false, false]);
  });
});

describe("while it goes on", () => {
  beforeEach(() => {
    repairedAt(0, 1, 2);
  });

  test("the object is left alone for 10 s, 20 s and so on, at most 5 minutes", () => {
    let at = 2;
    for (const hold of [10, 20, 40, 80, 160, 300, 300]) {
      expect(isHeldAt(at + 0.1)).toBe(true);
      expect(currentConflicts(conflicts, (at + 1) * 1_000)[0]?.dueMs).toBe((hold - 1) * 1_000);
      expect(isHeldAt(at + hold - 0.1)).toBe(true);
      at += hold;
      expect(isHeldAt(at)).toBe(false);
      expect(repairedAt(at)).toEqual([true]);
    }
  });

  test("other objects are repaired at once", () => {
    const other = { ...key, name: "b" };
    expect([...heldAmong(new Set([id, objectId(other)]), 3_000)]).toEqual([id]);
  });

  test("who could be named once stays named", () => {
    conflicts = withManagers(conflicts, key, [argo]);
    conflicts = withManagers(conflicts, key, []);
    expect(currentConflicts(conflicts, 3_000)).toMatchObject([{ managers: [argo] }]);
  });
});

describe("it is over", () => {
  beforeEach(() => {
    repairedAt(0, 1, 2);
  });

  test("a minute after the object was last wrong", () => {
    heldAmong(fine, 3_000);
    expect(currentConflicts(conflicts, 3_000)[0]?.dueMs).toBe(59_000);
    expect(currentConflicts(conflicts, 61_900)).toHaveLength(1);
    expect(currentConflicts(conflicts, 62_000)).toEqual([]);
    expect(repairedAt(63)).toEqual([false]);
  });

  test("not while the object is wrong and left alone", () => {
    repairedAt(12, 32, 72);
    expect(isHeldAt(72.1)).toBe(true);
    expect(currentConflicts(conflicts, 140_000)).toHaveLength(1);
  });

  test("when the other one put the object right itself", () => {
    expect(isHeldAt(3)).toBe(true);
    heldAmong(fine, 12_000);
    expect(currentConflicts(conflicts, 62_000)).toHaveLength(1);
    expect(currentConflicts(conflicts, 63_000)).toEqual([]);
  });
});

test("the message names object, manager and fields, and is short", () => {
  const contest = { key, managers: [argo], dueMs: 5 };
  expect(conflictMessage([contest])).toBe("ConfigMap ns/a: Contested by argocd-controller: data.x");
  const unnamed = { ...contest, managers: [] };
  expect(conflictMessage([unnamed, contest, contest, contest, contest])).toBe(
    "ConfigMap ns/a: Deleted or changed again and again by somebody who leaves no name; " +
      "ConfigMap ns/a: Contested by argocd-controller: data.x; " +
      "ConfigMap ns/a: Contested by argocd-controller: data.x (and 2 more objects)",
  );
});

test("whether a contest of before is over can be said after a minute, and at once where there was none", () => {
  const without = continueConflicts(continueConflicts(noConflicts, "", 0), told, 0);
  expect(untilSureMs(without, 0)).toBe(0);
  conflicts = continueConflicts(conflicts, told, 1_000);
  expect([1_000, 31_000, 61_000].map((now) => untilSureMs(conflicts, now))).toEqual([
    60_000, 30_000, 0,
  ]);
});
