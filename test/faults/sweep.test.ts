import { describe, expect, test } from "vitest";

import type { CrashPoint, CrashResult } from "./crash-sweep.ts";
import { seeded } from "./seeded.ts";
import { earlierOf, failureText, livesOf, rowsOf, singlesOf, type SweepPlan } from "./sweep.ts";
import { tableOf } from "./table.ts";

const writes = { install: 3, upgrade: 2, uninstall: 1 };

function point(write: number): CrashPoint {
  return { write, side: "before", signal: "SIGKILL" };
}

const struck = { number: 1, atMs: 0, cluster: "hub", connection: 1, method: "PUT", path: "/" };
const reached = { point: point(1), struck: { ...struck, who: "", body: "", status: 200 } };
const result = { convergeMs: 0, differences: [] };

function missed(write: number) {
  return { point: point(write), struck: undefined };
}

function pointsOf(plan: SweepPlan, seed = 1): readonly string[] {
  return livesOf(writes, plan, seeded(seed)).flatMap((life) =>
    Object.entries(life).flatMap(([phase, points]) =>
      points.map(({ write, side, signal }) => `${phase} ${side} ${write} ${signal}`),
    ),
  );
}

describe("C1: the crash sweep", () => {
  test("is at every write of every phase, on both sides, once", () => {
    const points = pointsOf({ signal: "SIGKILL" });
    expect(points.toSorted()).toEqual([
      "install after 1 SIGKILL",
      "install after 2 SIGKILL",
      "install after 3 SIGKILL",
      "install before 1 SIGKILL",
      "install before 2 SIGKILL",
      "install before 3 SIGKILL",
      "uninstall after 1 SIGKILL",
      "uninstall before 1 SIGKILL",
      "upgrade after 1 SIGKILL",
      "upgrade after 2 SIGKILL",
      "upgrade before 1 SIGKILL",
      "upgrade before 2 SIGKILL",
    ]);
  });

  test("C28: asks the controller to end at every write of the uninstall", () => {
    expect(pointsOf({ signal: "SIGTERM" })).toEqual([
      "uninstall before 1 SIGTERM",
      "uninstall after 1 SIGTERM",
    ]);
  });

  test("can be narrowed to one point", () => {
    const plan = { phase: "upgrade", writes: [2], side: "after", signal: "SIGKILL" } as const;
    expect(pointsOf(plan)).toEqual(["upgrade after 2 SIGKILL"]);
  });

  test("has several deaths in one life, each further on than the one before", () => {
    const many = { install: 7, upgrade: 0, uninstall: 0 };
    const plan = { side: "before", signal: "SIGKILL", deaths: 3 } as const;
    const lives = livesOf(many, plan, seeded(1));
    expect(lives.map(({ install = [] }) => install.map(({ write }) => write))).toEqual([
      [1, 4, 7],
      [2, 5],
      [3, 6],
    ]);
  });

  test("C1: takes every write into some life, however many deaths a life has", () => {
    const many = { install: 122, upgrade: 86, uninstall: 30 };
    const points = (deaths: number) =>
      livesOf(many, { deaths }, seeded(1))
        .flatMap((life) =>
          Object.entries(life).flatMap(([phase, chain]) =>
            chain.map((one) => phase + JSON.stringify(one)),
          ),
        )
        .toSorted();
    expect(points(8)).toEqual(points(1));
    expect(new Set(points(8)).size).toBe(2 * (122 + 86 + 30 + 30));
  });

  test("gives a life of its own to a death that no chain reached", () => {
    expect(
      singlesOf([
        { ...result, phase: "install", deaths: [reached, missed(9)] },
        { ...result, phase: "upgrade", deaths: [missed(3)] },
        { ...result, phase: "uninstall", deaths: [reached, missed(5), missed(7)] },
      ]),
    ).toEqual([{ install: [point(9)], uninstall: [point(5)] }, { uninstall: [point(7)] }]);
  });

  test("tries an earlier death where none of a row was reached, so that it says something", () => {
    const gentle = { ...point(9), signal: "SIGTERM" } as const;
    const gentled = { ...missed(9), point: gentle };
    const results: readonly CrashResult[] = [
      { ...result, phase: "install", deaths: [missed(7)] },
      { ...result, phase: "install", deaths: [reached] },
      { ...result, phase: "upgrade", deaths: [missed(5)] },
      { ...result, phase: "uninstall", deaths: [missed(3)] },
      { ...result, phase: "uninstall", deaths: [gentled] },
    ];
    expect(earlierOf(results)).toEqual([
      { upgrade: [point(3)], uninstall: [point(2)] },
      { uninstall: [{ ...gentle, write: 5 }] },
    ]);
    expect(earlierOf([{ ...result, phase: "upgrade", deaths: [reached] }])).toEqual([]);
  });

  test("has survived nothing where nobody died", () => {
    const tried = { target: { kind: "KnativeServing" }, reference: { writes } } as const;
    const rows = rowsOf(
      tried,
      [
        { ...result, phase: "install", deaths: [reached] },
        { ...result, phase: "install", deaths: [missed(3)] },
        { ...result, phase: "upgrade", deaths: [missed(2)] },
        { ...result, phase: "uninstall", deaths: [] },
      ],
      1,
    );
    expect(rows.map(({ fault, survived, notes }) => [fault, survived, notes.join()])).toEqual([
      [
        "KnativeServing: SIGKILL at 2 points of the install (3 writes)",
        true,
        "died 1 times; ended before these writes: before 3",
      ],
      [
        "KnativeServing: SIGKILL at 1 points of the upgrade (2 writes)",
        false,
        "died 0 times; ended before these writes: before 2",
      ],
    ]);
  });

  test("can be told the writes of one life", () => {
    const plan = { phase: "install", writes: [1, 3], side: "after" } as const;
    expect(livesOf(writes, plan, seeded(1))).toHaveLength(1);
    expect(pointsOf(plan)).toEqual(["install after 1 SIGKILL", "install after 3 SIGKILL"]);
  });

  test("draws the same sample for the same seed, and another for another", () => {
    const many = { install: 300, upgrade: 200, uninstall: 30 };
    const drawn = (seed: number) => JSON.stringify(livesOf(many, { sample: 4 }, seeded(seed)));
    expect(drawn(5)).toBe(drawn(5));
    expect(drawn(5)).not.toBe(drawn(6));
  });
});

test("a failure says how to see it again, also where the deaths of the phases before are the cause", () => {
  const deathAt = (write: number) => ({ point: { ...point(write) }, struck: undefined });
  const survived = { convergeMs: 0, differences: [] };
  const installed = { ...survived, phase: "install", deaths: [deathAt(3), deathAt(7)] } as const;
  const upgraded = { ...survived, phase: "upgrade", deaths: [] } as const;
  const failure = {
    phase: "uninstall",
    deaths: [],
    convergeMs: 0,
    differences: ["ConfigMap a/b is left"],
    earlier: [installed, upgraded],
  } as const;
  const command = "npm run faults -- --only C1 --seed 42 --kind KnativeServing";
  expect(failureText({ kind: "KnativeServing" }, failure, 42).split("\n")).toEqual([
    "uninstall, without a death of its own: ConfigMap a/b is left",
    `    again: ${command} --phase install --write 3,7 --side ${point(3).side}`,
  ]);
  const both = { ...failure, deaths: [deathAt(1)] };
  expect(failureText({ kind: "KnativeServing" }, both, 42).split("\n")).toEqual([
    `uninstall, ${point(1).side} write 1: ConfigMap a/b is left`,
    `    again: ${command} --phase uninstall --write 1 --side ${point(1).side}`,
    `    again: ${command} --phase install --write 3,7 --side ${point(3).side}`,
  ]);
});

test("the table says of each fault whether it was survived, how long it took, and what else there is", () => {
  const facts = { id: "C6", fault: "a fault", convergeMs: 1_234, late: [] };
  const row = { ...facts, survived: true, notes: ["a note"] };
  const late = { ...row, id: "C9", late: ["converged in 1234 ms, of 1000 ms"], notes: [] };
  const lost = { ...row, id: "C13", survived: false, convergeMs: undefined, notes: [] };
  expect(tableOf([row, late, lost], 42).split("\n")).toEqual([
    "      fault    survived converged",
    "C6    a fault  yes          1.2 s",
    "      a note",
    "C9    a fault  LATE         1.2 s",
    "      LATE: converged in 1234 ms, of 1000 ms",
    "C13   a fault  NO               -",
    "",
    "1 of 3 not survived, 1 later than the fault table allows; seed 42",
  ]);
});
