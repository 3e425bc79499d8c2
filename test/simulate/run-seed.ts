import { checkEnd, checkQuiet } from "./end.ts";
import type { FreshInstalls } from "./fresh-install.ts";
import { type ScenarioOptions, scenarioOf } from "./scenario.ts";
import { type RunResult, Simulation, type SimulationOptions } from "./simulation.ts";

export interface RunOptions extends SimulationOptions, ScenarioOptions {
  readonly installs: FreshInstalls;
  /** How long nothing may be written at the end, in ms. */
  readonly quietMs: number;
}

/** Runs the scenario of a seed with all checks. The same seed gives the same result. */
export async function runSeed(seed: number, options: RunOptions): Promise<RunResult> {
  const scenario = scenarioOf(seed, options);
  const simulation = new Simulation(scenario, options);
  await using _simulation = simulation;
  await simulation.live();
  if (simulation.problems.length === 0) await checkEnd(simulation, scenario, options.installs);
  if (simulation.problems.length === 0) await checkQuiet(simulation, options.quietMs);
  await simulation.stop();
  return simulation.result();
}
