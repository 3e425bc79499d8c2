import { setTimeout as delay } from "node:timers/promises";

import type { SimulatedSpoke } from "../../simulator/simulator.ts";
import type { ControllerProcess } from "../../support/controller-process.ts";
import { loseAndWait, rest, startCold } from "./experiments.ts";
import { type Experiment, measured, quantiles } from "./measured.ts";
import {
  allConnected,
  type ControlledFleet,
  type ScaleFleet,
  type Sharing,
  sharingFlags,
  spokeTraffic,
  startControllers,
} from "./scale-fleet.ts";

const stoppedMs = 30_000;

/** f: several replicas start while everything is installed, rest, and lose one that is killed and one that stands still. */
export async function shareFleet(
  scale: ScaleFleet,
  sharing: Sharing,
  add: (experiment: Experiment) => void,
): Promise<void> {
  const { experiment, running } = await startCold(scale, sharing);
  await using _running = running;
  const { replicas, shards } = sharing;
  const title = `${replicas} replicas with ${shards} shards start, everything installed before`;
  add({ ...experiment, id: "f1", title });
  const idle = await rest(running);
  add({ ...idle, id: "f2", title: `${replicas} replicas, ${idle.title}` });
  add(await killOne(running));
  await using another = await startControllers(scale, { flags: sharingFlags(sharing) });
  const left = running.controllers.filter(({ isRunning }) => isRunning);
  const all = { scale, controllers: [...left, ...another.controllers] };
  await allConnected(all, sharing);
  add(await stopOne(all));
}

/** f3: one replica is killed. How long until an object that its spokes lose is there again. */
export async function killOne(controlled: ControlledFleet): Promise<Experiment> {
  const { chosen, others, doubleWrites } = await chooseOne(controlled);
  let times: readonly number[] = [];
  const figures = await measured({ ...controlled, controllers: others }, async () => {
    await chosen.replica.kill();
    times = await Promise.all(chosen.spokes.map(loseAndWait));
  });
  return {
    id: "f3",
    title: `one of ${others.length + 1} replicas is killed, which served ${times.length} spokes`,
    ...figures,
    ...quantiles(times),
    ...counted(doubleWrites + figures.doubleWrites),
  };
}

/**
 * f4: one replica stands still for 30 s and then goes on. Its spokes lose an object when it stops, and again when it goes on: it has both deletions to read then, and must
 * not write any more, because other replicas do.
 */
async function stopOne(controlled: ControlledFleet): Promise<Experiment> {
  const { chosen, others, doubleWrites } = await chooseOne(controlled);
  const { replica, spokes } = chosen;
  let times: readonly number[] = [];
  const figures = await measured({ ...controlled, controllers: others }, async () => {
    const goesOn = delay(stoppedMs);
    replica.signal("SIGSTOP");
    times = await Promise.all(spokes.map(loseAndWait));
    await goesOn;
    const repaired = Promise.all(spokes.map(loseAndWait));
    replica.signal("SIGCONT");
    await repaired;
    // It has lost its Leases, and ends.
    await replica.exited;
  });
  return {
    id: "f4",
    title: `one of ${others.length + 1} replicas, which served ${times.length} spokes, stands still for 30 s`,
    ...figures,
    ...quantiles(times),
    ...counted(doubleWrites + figures.doubleWrites),
  };
}

function counted(doubleWrites: number): Pick<Experiment, "doubleWrites" | "note"> {
  return { doubleWrites, note: `${doubleWrites} double writes` };
}

/** A replica, and the spokes that it serves. */
interface Share {
  readonly replica: ControllerProcess;
  readonly spokes: readonly SimulatedSpoke[];
}

interface Choice {
  /** The one that serves the most spokes. */
  readonly chosen: Share;
  readonly others: readonly ControllerProcess[];
  /** What the simulator has counted so far. */
  readonly doubleWrites: number;
}

/** Chooses a replica, after every spoke was written to: the simulator knows then which replica serves it. */
async function chooseOne({ scale, controllers }: ControlledFleet): Promise<Choice> {
  await Promise.all(scale.spokes.map(loseAndWait));
  const shares = await Promise.all(controllers.map((replica) => shareOf(scale, replica)));
  const [chosen, ...others] = shares.toSorted((a, b) => b.spokes.length - a.spokes.length);
  if (chosen === undefined) throw new Error("There is no replica");
  const { doubleWrites } = spokeTraffic(scale);
  return { chosen, others: others.map(({ replica }) => replica), doubleWrites };
}

async function shareOf({ spokes }: ScaleFleet, replica: ControllerProcess): Promise<Share> {
  const { identity } = await replica.logged({ msg: "Took a share of the fleet" });
  const userAgent = `(${String(identity)})`;
  const isServed = ({ traffic }: SimulatedSpoke): boolean =>
    traffic.writer?.includes(userAgent) === true;
  return { replica, spokes: spokes.filter(isServed) };
}
