import type { ComponentKind } from "../../api/component.ts";
import {
  live,
  phases,
  undisturbed,
  type CrashPoint,
  type CrashResult,
  type Death,
  type Life,
  type Phase,
  type Reference,
} from "./crash-sweep.ts";
import type { FaultBench, Target } from "./fault-bench.ts";
import type { FaultResult } from "./trial.ts";

/** Which points of which lives are tried. */
export interface SweepPlan {
  /** What is swept: a kind of component, or the rollout of a fleet set. Absent: all. */
  readonly kind?: ComponentKind | "Set";
  readonly phase?: Phase;
  readonly side?: CrashPoint["side"];
  /** At these writes only, one controller after the other. */
  readonly writes?: readonly number[];
  /** So many deaths in each phase of a life; default 1. */
  readonly deaths?: number;
  /** Go on with this life of each kind, counted from 1. */
  readonly from?: number;
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
    const compared = { target, reference };
    const lives = livesOf(reference.writes, plan, bench.random);
    const chained = await liveAll(bench, compared, { lives, from: plan.from ?? 1 });
    const again = singlesOf(chained);
    if (again.length > 0)
      bench.say(`${target.kind}: ${again.length} more lives for what no chain reached`);
    const results = [...chained, ...(await liveAll(bench, compared, { lives: again, from: 1 }))];
    // Whoever tells the writes means these.
    const earlier = plan.writes === undefined ? earlierOf(results) : [];
    results.push(...(await liveAll(bench, compared, { lives: earlier, from: 1 })));
    rows.push(...rowsOf(compared, results, bench.seed));
  }
  return rows;
}

/** What a row tells of. */
interface Tried {
  readonly target: Pick<Target, "kind">;
  readonly reference: Pick<Reference, "writes">;
}

const signals = ["SIGKILL", "SIGTERM"] as const;

interface Compared {
  readonly target: Target;
  readonly reference: Reference;
}

async function liveAll(
  bench: FaultBench,
  compared: Compared,
  { lives, from }: { readonly lives: readonly Life[]; readonly from: number },
): Promise<readonly CrashResult[]> {
  const { kind } = compared.target;
  const results: CrashResult[] = [];
  for (const [index, life] of lives.entries()) {
    if (index + 1 < from) continue;
    const startedAt = performance.now();
    const found = await live(bench, compared, life);
    results.push(...found);
    for (const one of found.filter(isFailure)) {
      bench.say(failureText(compared.target, one, bench.seed));
    }
    if (lives.length <= 10) continue;
    const died = found.flatMap(({ deaths }) => deaths.filter(isReached)).length;
    const tookS = Math.round((performance.now() - startedAt) / 1_000);
    bench.say(`${kind}: life ${index + 1} of ${lives.length}: ${died} deaths in ${tookS} s`);
  }
  return results;
}

/** A controller that follows on others may have less to write than they had: what a chain did not reach gets lives with single deaths. */
export function singlesOf(results: readonly CrashResult[]): readonly Life[] {
  const missed = phases.map((phase) =>
    results
      .filter((one) => one.phase === phase && one.deaths.length > 1)
      .flatMap(({ deaths }) => deaths.filter((death) => !isReached(death)))
      .map(({ point }) => [phase, [point]] as const),
  );
  return livesWith(missed);
}

/**
 * A phase has a few writes more in one life than in another: where no death of a row was reached, one at half the number is tried, so that a
 * sample of few points says something about each row.
 */
export function earlierOf(results: readonly CrashResult[]): readonly Life[] {
  const missed = phases.map((phase) =>
    signals
      .map((signal) => deathsOf(results, { phase, signal }))
      .filter((deaths) => deaths.length > 0 && !deaths.some(isReached))
      .flatMap((deaths) => deaths.slice(0, 1))
      .map(({ point }) => [phase, [{ ...point, write: Math.ceil(point.write / 2) }]] as const),
  );
  return livesWith(missed);
}

/** The first of each phase in one life, the second of each in the next one, and so on. */
function livesWith(
  points: readonly (readonly (readonly [Phase, readonly CrashPoint[]])[])[],
): readonly Life[] {
  const count = Math.max(...points.map(({ length }) => length));
  return Array.from({ length: count }, (_, index) =>
    Object.fromEntries(points.flatMap((ofPhase) => ofPhase.slice(index, index + 1))),
  );
}

/** Lives in which every wanted point is once: in the order of the writes, each as far from the next one as can be. */
export function livesOf(
  writes: Readonly<Record<Phase, number>>,
  plan: SweepPlan,
  random: () => number,
): readonly Life[] {
  const chains = phases.map(
    (phase) => [phase, chainsOf(pointsOf(phase, writes[phase], plan), plan, random)] as const,
  );
  const count = Math.max(...chains.map(([, ofPhase]) => ofPhase.length));
  return Array.from({ length: count }, (_, index) =>
    Object.fromEntries(
      chains.flatMap(([phase, ofPhase]) => {
        const chain = ofPhase[index];
        return chain === undefined ? [] : [[phase, chain] as const];
      }),
    ),
  );
}

/** All deaths of a chain are by the same signal and on the same side, so that it can be written on a command line. */
function chainsOf(
  points: readonly CrashPoint[],
  { sample, deaths = 1, writes }: SweepPlan,
  random: () => number,
): readonly (readonly CrashPoint[])[] {
  if (sample !== undefined) {
    const drawn = Array.from({ length: sample }, (_, index) => {
      const point = points[drawnIndex({ index, drawn: sample }, points.length, random)];
      return point === undefined ? [] : [point];
    });
    return drawn.filter((chain) => chain.length > 0);
  }
  const alike = Object.values(Object.groupBy(points, ({ side, signal }) => `${side} ${signal}`));
  return alike.flatMap((ofKind) => {
    if (writes !== undefined) return [ofKind];
    const count = Math.ceil(ofKind.length / deaths);
    return Array.from({ length: count }, (_, index) =>
      ofKind.filter((_point, position) => position % count === index),
    );
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
  return signals
    .filter((signal) => phase === "uninstall" || signal === "SIGKILL")
    .filter((signal) => plan.signal === undefined || plan.signal === signal)
    .flatMap((signal) =>
      Array.from({ length: writes }, (_, index) =>
        sides.map((side) => ({ write: index + 1, side, signal })),
      ).flat(),
    )
    .filter(
      ({ write, side }) =>
        (plan.writes?.includes(write) ?? true) && (plan.side === undefined || plan.side === side),
    );
}

/** One row for each phase and signal of which a death was tried; where nobody died, nothing was survived. */
export function rowsOf(
  { target, reference }: Tried,
  results: readonly CrashResult[],
  seed: number,
): readonly FaultResult[] {
  const kinds = phases.flatMap((phase) => signals.map((signal) => ({ phase, signal })));
  return kinds.flatMap((kind) => {
    const { phase, signal } = kind;
    const own = results.filter((one) => one.phase === phase && signalOf(one) === signal);
    const deaths = deathsOf(results, kind);
    const failures = own.filter(isFailure);
    if (deaths.length + failures.length === 0) return [];
    const reached = deaths.filter(isReached);
    return [
      {
        id: signal === "SIGKILL" ? "C1" : "C28",
        fault: `${target.kind}: ${signal} at ${deaths.length} points of the ${phase} (${reference.writes[phase]} writes)`,
        survived: failures.length === 0 && reached.length > 0,
        late: [],
        convergeMs: Math.max(...own.map(({ convergeMs }) => convergeMs)),
        notes: [
          `died ${reached.length} times${unreachedText(deaths)}`,
          ...failures.map((one) => failureText(target, one, seed)),
        ],
      },
    ];
  });
}

/** What a chain did not reach is there once more, alone. */
function deathsOf(
  results: readonly CrashResult[],
  { phase, signal }: Pick<CrashResult, "phase"> & Pick<CrashPoint, "signal">,
): readonly Death[] {
  const own = results.filter((one) => one.phase === phase && signalOf(one) === signal);
  return own.flatMap((one) =>
    one.deaths.filter((death) => one.deaths.length === 1 || isReached(death)),
  );
}

function isFailure({ differences }: CrashResult): boolean {
  return differences.length > 0;
}

function isReached({ struck }: Death): boolean {
  return struck !== undefined;
}

function signalOf({ deaths }: CrashResult): CrashPoint["signal"] {
  return deaths[0]?.point.signal ?? "SIGKILL";
}

/** Fewer writes than in the undisturbed run: what was already there was not written again. */
function unreachedText(deaths: readonly Death[]): string {
  const points = deaths.filter((death) => !isReached(death)).map(({ point }) => point);
  const sides = (["before", "after"] as const).flatMap((side) => {
    const writes = points.filter((one) => one.side === side).map(({ write }) => write);
    const sorted = writes.toSorted((a, b) => a - b).join(",");
    return writes.length === 0 ? [] : [`${side} ${sorted}`];
  });
  return sides.length === 0 ? "" : `; ended before these writes: ${sides.join("; ")}`;
}

/** What went wrong in a phase, at which writes, and how to see it again: the deaths of the phases before may be the cause. */
export function failureText(
  { kind }: Pick<Target, "kind">,
  failure: CrashResult,
  seed: number,
): string {
  const { phase, deaths, differences, lastWords = [], earlier = [] } = failure;
  const why = differences.slice(0, 5).join("; ");
  const again = [failure, ...earlier.toReversed()].flatMap((one) => {
    const [first] = one.deaths;
    if (first === undefined) return [];
    const { side, signal } = first.point;
    const id = signal === "SIGKILL" ? "C1" : "C28";
    const writes = one.deaths.map(({ point }) => point.write).join(",");
    return `    again: npm run faults -- --only ${id} --seed ${seed} --kind ${kind} --phase ${one.phase} --write ${writes} --side ${side}`;
  });
  const said = lastWords.map((line) => `    log: ${line}`);
  return [`${phase}, ${placeOf(deaths)}: ${why}`, ...said, ...again].join("\n");
}

function placeOf(deaths: readonly Death[]): string {
  const [first] = deaths;
  if (first === undefined) return "without a death of its own";
  const at = deaths.map(({ point, struck }) =>
    struck === undefined
      ? `${point.write}`
      : `${point.write} (${struck.method} ${struck.cluster}${struck.path})`,
  );
  return `${first.point.side} write ${at.join(", ")}`;
}
