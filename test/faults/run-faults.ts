import { runsOf } from "../support/fuzz.ts";
import type { FaultBench } from "./fault-bench.ts";
import { faultCases } from "./fault-cases.ts";
import { sweep, type SweepPlan } from "./sweep.ts";
import { expectedOf, tryFault, type Expected, type FaultCase, type FaultResult } from "./trial.ts";

/** Which faults are tried. */
export interface FaultPlan {
  readonly quick: boolean;
  /** Numbers of the fault table; absent: all. */
  readonly only?: readonly string[];
  /** Part of a case's description. */
  readonly match?: string;
  /** Narrows the crash sweep. */
  readonly point: SweepPlan;
  /** What `expectedOf` gave on the same bench; absent: it is found out first. */
  readonly expected?: Expected;
}

const sampledLives = runsOf(2);
/** Deaths in each phase of a life of the whole sweep, which so takes an hour and not a day. */
export const usualDeaths = 8;

/** Tries the faults one after the other on one bench; a failure is a row, not an error. */
export async function runFaults(
  bench: FaultBench,
  plan: FaultPlan,
): Promise<readonly FaultResult[]> {
  const results: FaultResult[] = [];
  const cases = casesOf(plan);
  if (cases.length > 0) {
    const expected = plan.expected ?? (await expectedOf(bench));
    for (const one of cases) {
      bench.say(`${one.id}: ${one.fault}`);
      const result = await tryFault(bench, one, expected);
      const { survived, late, convergeMs = 0, notes } = result;
      const said = survived ? `converged in ${(convergeMs / 1_000).toFixed(1)} s` : "NOT SURVIVED";
      bench.say(`${one.id}: ${[said, ...late, ...notes].join("; ")}`);
      results.push(result);
    }
  }
  const swept = sweepOf(plan);
  if (swept !== undefined) results.push(...(await sweep(bench, swept)));
  return results;
}

function casesOf({ quick, only, match = "", point }: FaultPlan): readonly FaultCase[] {
  // Whoever names a point means the sweep.
  if (Object.keys(point).length > 0) return [];
  return faultCases.filter(
    ({ id, fault, isQuick }) =>
      (isQuick || !quick) && (only === undefined || only.includes(id)) && fault.includes(match),
  );
}

/** The crash sweep of a plan; undefined: none. */
export function sweepOf({
  quick,
  only = ["C1", "C28"],
  match,
  point,
}: FaultPlan): SweepPlan | undefined {
  const wanted = only.filter((id) => id === "C1" || id === "C28");
  if (wanted.length === 0 || match !== undefined) return undefined;
  const [first] = wanted;
  const signal = first === "C1" ? ("SIGKILL" as const) : ("SIGTERM" as const);
  return {
    deaths: usualDeaths,
    ...point,
    ...(quick ? { sample: sampledLives } : {}),
    ...(wanted.length === 1 ? { signal } : {}),
  };
}

/** The crash sweep of a fleet set, which has one phase and C1 alone; undefined: none. */
export function setSweepOf(plan: FaultPlan): SweepPlan | undefined {
  const swept = sweepOf(plan);
  if (swept === undefined || swept.signal === "SIGTERM" || swept.phase !== undefined) {
    return undefined;
  }
  return swept.kind === undefined || swept.kind === "Set" ? swept : undefined;
}
