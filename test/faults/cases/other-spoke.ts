import { create, gone, ready, remove } from "../../e2e/installation.ts";
import { medianOf } from "../../performance/figures.ts";
import type { FaultBench } from "../fault-bench.ts";
import type { Trial } from "../trial.ts";

const rounds = 5;
/** Of the time that it takes beside a spoke without a fault. */
const mostTimes = 1.2;

/** Compares the time of an installation on the other spoke while this one is harmed with that before. */
export async function otherServed(trial: Trial, harm: () => Promise<unknown>): Promise<void> {
  const without = await installOthers(trial.bench);
  await harm();
  const beside = await installOthers(trial.bench);
  trial.figure("install on the other spoke", beside, without * mostTimes);
}

/** The median of five, in ms. */
async function installOthers(bench: FaultBench): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await installOther(bench));
  return medianOf(times);
}

async function installOther({ hub, eventing }: FaultBench): Promise<number> {
  const startedAt = performance.now();
  await create(hub, { kind: "KnativeEventing", on: eventing.profile });
  await ready(hub, "KnativeEventing");
  const took = Math.round(performance.now() - startedAt);
  await remove(hub, "KnativeEventing");
  await gone(hub, "KnativeEventing");
  return took;
}
