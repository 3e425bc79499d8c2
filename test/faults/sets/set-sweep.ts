import type { CrashPoint, Death } from "../crash-sweep.ts";
import type { SweepPlan } from "../sweep.ts";
import type { FaultResult } from "../trial.ts";
import { roll, type Rolled } from "./roll.ts";
import type { SetBench } from "./set-bench.ts";

type SetPlan = Pick<SweepPlan, "side" | "writes" | "from" | "sample">;

/** What came of a rollout with deaths. */
interface Outcome extends Pick<Rolled, "deaths" | "convergeMs"> {
  /** How it ended otherwise than the undisturbed one, and what it did on the way that it must not; empty: survived. */
  readonly differences: readonly string[];
}

/** A rollout of another machine may need some writes of the status more. */
const moreWrites = 10;

/**
 * C1 for fleet sets: a controller that rolls a set out dies by SIGKILL at a write that is about the set, another one goes on, and all ends as it does without a death.
 * A sample is one rollout of which every controller dies after its first write.
 */
export async function sweepSets(
  bench: SetBench,
  plan: SetPlan,
  reference?: Rolled,
): Promise<readonly FaultResult[]> {
  const usual = reference ?? (await roll(bench, []));
  const count = usual.writes.length;
  bench.say(`Set: ${count} writes to roll out`);
  if (usual.broken.length > 0) throw new Error(usual.broken.join("; "));
  const outcomes: Outcome[] = [];
  const ended = new Set<CrashPoint["side"]>();
  for (const [index, points] of livesOf(count + moreWrites, plan).entries()) {
    const side = points[0]?.side ?? "after";
    if (index + 1 < (plan.from ?? 1) || ended.has(side)) continue;
    const outcome = await tried(bench, usual, points);
    outcomes.push(outcome);
    const [first] = outcome.deaths;
    // No rollout has a later write.
    if (first?.struck === undefined && outcome.differences.length === 0) ended.add(side);
    bench.say(textOf(outcome));
  }
  return rowsOf(outcomes, count);
}

function livesOf(
  writes: number,
  { side, writes: only, sample }: SetPlan,
): readonly (readonly CrashPoint[])[] {
  const signal = "SIGKILL" as const;
  if (sample !== undefined) {
    return [Array.from({ length: 2 * writes }, () => ({ write: 1, side: "after", signal }))];
  }
  const sides = side === undefined ? (["after", "before"] as const) : [side];
  if (only !== undefined) {
    return sides.map((one) => only.map((write) => ({ write, side: one, signal })));
  }
  return sides.flatMap((one) =>
    Array.from({ length: writes }, (_, index) => [{ write: index + 1, side: one, signal }]),
  );
}

async function tried(
  bench: SetBench,
  usual: Rolled,
  points: readonly CrashPoint[],
): Promise<Outcome> {
  try {
    const { deaths, convergeMs, differences, broken } = await roll(bench, points, usual.state);
    return { deaths, convergeMs, differences: [...differences, ...broken] };
  } catch (error) {
    const differences = [error instanceof Error ? error.message : String(error)];
    const deaths = points.map((point) => ({ point, struck: undefined }));
    return { deaths, convergeMs: 0, differences };
  }
}

/** One row for all; where nobody died, nothing was survived. */
function rowsOf(outcomes: readonly Outcome[], count: number): readonly FaultResult[] {
  if (outcomes.length === 0) return [];
  const failures = outcomes.filter(({ differences }) => differences.length > 0);
  const died = outcomes.flatMap(({ deaths }) => deaths.filter(isReached)).length;
  return [
    {
      id: "C1",
      fault: `Set: SIGKILL at ${died} points of the rollout (${count} writes)`,
      survived: failures.length === 0 && died > 0,
      late: [],
      convergeMs: Math.max(...outcomes.map(({ convergeMs }) => convergeMs)),
      notes: failures.map(textOf),
    },
  ];
}

function isReached({ struck }: Death): boolean {
  return struck !== undefined;
}

function textOf({ deaths, differences, convergeMs }: Outcome): string {
  const side = deaths[0]?.point.side ?? "after";
  const at = deaths.map(({ point, struck }) =>
    struck === undefined
      ? `${point.write} (not reached)`
      : `${point.write} (${struck.method} ${lastOf(struck.path)})`,
  );
  const where = `Set: ${side} write ${at.join(", ")}`;
  if (differences.length === 0) return `${where}: ended in ${(convergeMs / 1_000).toFixed(1)} s`;
  const writes = deaths.map(({ point }) => point.write).join(",");
  const again = `    again: npm run faults -- --only C1 --kind Set --write ${writes} --side ${side}`;
  return `${where}: ${differences.slice(0, 5).join("; ")}\n${again}`;
}

/** Enough of a path to know the write. */
function lastOf(path: string): string {
  return path.replace(/^.*\/namespaces\//, "").replace(/\?.*$/, "");
}
