import { describe, expect, test } from "vitest";

import type { CrashPoint, CrashResult, Phase } from "./crash-sweep.ts";
import { optionsOf } from "./fault-options.ts";
import { setSweepOf, sweepOf } from "./run-faults.ts";
import { seeded } from "./seeded.ts";
import { failureText, livesOf } from "./sweep.ts";

const kind = "KnativeEventing";
const writes = { install: 197, upgrade: 156, uninstall: 31 };

function chain(
  numbers: readonly number[],
  how: Pick<CrashPoint, "side" | "signal">,
): readonly CrashPoint[] {
  return numbers.map((write) => ({ write, ...how }));
}

function resultOf(phase: Phase, points: readonly CrashPoint[]): CrashResult {
  const deaths = points.map((point) => ({ point, struck: undefined }));
  return { phase, deaths, convergeMs: 0, differences: ["ConfigMap a/b is left"] };
}

/** What each command of a failure would do, in their order: which component, and the lives it would live. */
function replaysOf(failure: CrashResult) {
  const lines = failureText({ kind }, failure, 42).split("\n");
  const commands = lines.flatMap((line) => /again: npm run faults -- (.*)$/.exec(line)?.[1] ?? []);
  return commands.map((command) => {
    const options = optionsOf(command.split(" "));
    const plan = options && sweepOf(options);
    if (plan === undefined) throw new Error(`${command} does not sweep`);
    return { seed: options?.seed, kind: plan.kind, lives: livesOf(writes, plan, seeded(7)) };
  });
}

describe("the command that a failure of the crash sweep prints", () => {
  test.each<{ readonly phase: Phase; readonly points: readonly CrashPoint[] }>([
    { phase: "install", points: chain([119], { side: "before", signal: "SIGKILL" }) },
    { phase: "upgrade", points: chain([9, 25, 41], { side: "after", signal: "SIGKILL" }) },
    { phase: "uninstall", points: chain([5, 31], { side: "before", signal: "SIGKILL" }) },
    { phase: "uninstall", points: chain([5], { side: "after", signal: "SIGTERM" }) },
  ])("has the same deaths again in $phase", ({ phase, points }) => {
    expect(replaysOf(resultOf(phase, points))).toEqual([
      { seed: 42, kind, lives: [{ [phase]: points }] },
    ]);
  });

  test("is there for the deaths of the phases before, too", () => {
    const installed = resultOf("install", chain([3, 7], { side: "after", signal: "SIGKILL" }));
    const removed = resultOf("uninstall", chain([2], { side: "before", signal: "SIGTERM" }));
    expect(replaysOf({ ...removed, earlier: [installed] }).map(({ lives }) => lives)).toEqual([
      [{ uninstall: removed.deaths.map(({ point }) => point) }],
      [{ install: installed.deaths.map(({ point }) => point) }],
    ]);
  });
});

test.each([
  ["", true],
  ["--quick", true],
  ["--kind Set --write 3 --side after", true],
  ["--only C1", true],
  ["--only C28", false],
  ["--only C6", false],
  ["--kind KnativeServing", false],
  ["--phase install", false],
])("faults %s: a fleet set is swept: %j", (line, isSwept) => {
  const options = optionsOf(line.split(" ").filter(Boolean));
  expect(options && setSweepOf(options) !== undefined).toBe(isSwept);
});

test.each([
  [["--only", "C99"]],
  [["--kind", "KnativeKafka"]],
  [["--phase", "repair"]],
  [["--write", "3,x"]],
  [["--side", "left"]],
  [["--point", "3"]],
])("%j is refused", (args) => {
  expect(() => optionsOf(args)).toThrow(Error);
});
