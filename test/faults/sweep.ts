import type { ComponentKind } from "../../api/component.ts";
import {
  live,
  phases,
  undisturbed,
  type CrashPoint,
  type CrashResult,
  type Life,
  type Phase,
  type Reference,
} from "./crash-sweep.ts";
import type { FaultBench, Target } from "./fault-bench.ts";
import type { FaultResult } from "./trial.ts";

/** Which points of which lives are tried. */
export interface SweepPlan {
  /** Absent: both. */
  readonly kind?: ComponentKind;
  readonly phase?: Phase;
  readonly side?: CrashPoint["side"];
  /** One write only. */
  readonly write?: number;
  /** So many lives of each kind with points drawn by the seed; absent: every point. */
  readonly sample?: number;
  /** Only deaths by this signal, which is C1 or C28. */
  readonly signal?: CrashPoint["signal"];
}

/**
 * Sweeps the lives of Serving and Eventing: C1 is a death by SIGKILL at a write of install, upgrade or uninstall, C28 one by SIGTERM at
 * a write of the uninstall.
 */
export async function sweep(bench: FaultBench, plan: SweepPlan): Promise<readonly FaultResult[]> {
  const rows: FaultResult[] = [];
  for (const target of [bench.serving, bench.eventing]) {
    if (plan.kind !== undefined && plan.kind !== target.kind) continue;
    const reference = await undisturbed(bench, target);
    const { install, upgrade, uninstall } = reference.writes;
    bench.say(
      `${target.kind}: ${install} writes to install, ${upgrade} to upgrade, ${uninstall} to uninstall`,
    );
    const lives = livesOf(reference.writes, plan, bench.random);
    const results: CrashResult[] = [];
    for (const [index, life] of lives.entries()) {
      const found = await live(bench, { target, reference }, life);
      results.push(...found);
      for (const one of found.filter(isFailure)) bench.say(failureText(target, one, bench.seed));
      if (lives.length > 10 && index % 10 === 9)
        bench.say(`${target.kind}: ${index + 1} of ${lives.length} lives`);
    }
    rows.push(...rowsOf({ target, reference }, results, bench.seed));
  }
  return rows;
}

/** Lives with one point in each phase, so that every wanted point is in one of them. */
export function livesOf(
  writes: Readonly<Record<Phase, number>>,
  plan: SweepPlan,
  random: () => number,
): readonly Life[] {
  const points = Object.fromEntries(
    phases.map((phase) => [phase, pointsOf(phase, writes[phase], plan)]),
  );
  const drawn = plan.sample;
  const count = drawn ?? Math.max(...phases.map((phase) => points[phase]?.length ?? 0));
  return Array.from({ length: count }, (_, index) => {
    const life: Life = {};
    for (const phase of phases) {
      const own = points[phase] ?? [];
      const point =
        own[drawn === undefined ? index : drawnIndex({ index, drawn }, own.length, random)];
      if (point !== undefined) life[phase] = point;
    }
    return life;
  });
}

/** One out of each equal part of the points, so that a sample spans the whole phase. */
function drawnIndex(
  { index, drawn }: { readonly index: number; readonly drawn: number },
  length: number,
  random: () => number,
): number {
  return Math.floor(((index + random()) / drawn) * length);
}

function pointsOf(phase: Phase, writes: number, plan: SweepPlan): readonly CrashPoint[] {
  if (plan.phase !== undefined && plan.phase !== phase) return [];
  const sides = ["before", "after"] as const;
  const signals =
    phase === "uninstall" ? (["SIGKILL", "SIGTERM"] as const) : (["SIGKILL"] as const);
  return signals
    .filter((signal) => plan.signal === undefined || plan.signal === signal)
    .flatMap((signal) =>
      Array.from({ length: writes }, (_, index) =>
        sides.map((side) => ({ write: index + 1, side, signal })),
      ).flat(),
    )
    .filter(({ write, side }) => (plan.write ?? write) === write && (plan.side ?? side) === side);
}

function rowsOf(
  { target, reference }: { readonly target: Target; readonly reference: Reference },
  results: readonly CrashResult[],
  seed: number,
): readonly FaultResult[] {
  const kinds = phases.flatMap((phase) =>
    (["SIGKILL", "SIGTERM"] as const).map((signal) => ({ phase, signal })),
  );
  return kinds.flatMap(({ phase, signal }) => {
    const own = results.filter((one) => one.phase === phase && one.point.signal === signal);
    if (own.length === 0) return [];
    const failures = own.filter(isFailure);
    const reached = own.filter(({ struck }) => struck !== undefined);
    return [
      {
        id: signal === "SIGKILL" ? "C1" : "C28",
        fault: `${target.kind}: ${signal} at ${own.length} points of the ${phase} (${reference.writes[phase]} writes)`,
        survived: failures.length === 0,
        convergeMs: Math.max(...own.map(({ convergeMs }) => convergeMs)),
        notes: [
          `died ${reached.length} times`,
          ...failures.map((one) => failureText(target, one, seed)),
        ],
      },
    ];
  });
}

function isFailure({ differences }: CrashResult): boolean {
  return differences.length > 0;
}

function failureText(
  { kind }: Target,
  { phase, point, struck, differences }: CrashResult,
  seed: number,
): string {
  const { write, side, signal } = point;
  const at = struck === undefined ? "" : ` (${struck.method} ${struck.cluster}${struck.path})`;
  const id = signal === "SIGKILL" ? "C1" : "C28";
  const again = `npm run faults -- --only ${id} --seed ${seed} --kind ${kind} --phase ${phase} --write ${write} --side ${side}`;
  return `${phase}, ${side} write ${write}${at}: ${differences.slice(0, 5).join("; ")}\n    again: ${again}`;
}
