import { startFleet } from "../fleet/fleet.ts";
import { megabytes, seconds, tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import {
  createEverything,
  goDark,
  installBesideBlackHoles,
  repairTenth,
  rest,
  startCold,
} from "./scale/experiments.ts";
import type { Experiment } from "./scale/measured.ts";
import { shareFleet } from "./scale/replicas.ts";
import {
  type ScaleOptions,
  type Sharing,
  startControllers,
  startScaleFleet,
} from "./scale/scale-fleet.ts";
import { upgradeBySet } from "./scale/set-rollout.ts";
import { askForStatus } from "./scale/status-of-all.ts";

/** Experiments with so many simulated spokes, both components on each. */
export interface ScaleResult {
  readonly spokes: number;
  readonly experiments: readonly Experiment[];
}

/** Runs the experiments one after the other on one hub. */
export async function measureScale(
  options: ScaleOptions & Sharing,
  say: (line: string) => void,
): Promise<ScaleResult> {
  await using fleet = await startFleet({ spokes: [], log: say });
  await using scale = await startScaleFleet(fleet, options, say);
  const experiments: Experiment[] = [];
  const add = (experiment: Experiment): void => {
    experiments.push(experiment);
    say(`Scale ${experiment.id}: ${rowOf(experiment).slice(1).join(", ")}`);
  };
  {
    await using first = await startControllers(scale);
    add(await createEverything(first));
  }
  {
    const { experiment, running } = await startCold(scale);
    await using _running = running;
    add(experiment);
    add(await rest(running));
    add(await askForStatus(scale));
    add(await repairTenth(running));
    add(await goDark(running));
  }
  if (options.replicas > 1) await shareFleet(scale, options, add);
  await using withSets = await startControllers(scale, { flags: ["--sets"] });
  add(await upgradeBySet(withSets, say));
  add(await installBesideBlackHoles(withSets, say));
  return { spokes: options.spokes, experiments };
}

const milliseconds = (value: number | undefined): string =>
  value === undefined ? "" : seconds(value);
const count = (value: number | undefined): string => (value === undefined ? "" : String(value));

const headers = [
  "",
  "simulated spokes",
  "replicas",
  "time",
  "p50",
  "p95",
  "hub requests",
  "of them writes",
  "spoke requests",
  "of them writes",
  "memory",
  "CPU",
  "event loop p99",
  "etcd of the hub",
  "",
];

function rowOf(experiment: Experiment): readonly string[] {
  const { id, title, spokes, residentBytes, loopP99Ms, etcdBytes, note = "" } = experiment;
  return [
    `${id}: ${title}`,
    String(spokes),
    count(experiment.replicas),
    milliseconds(experiment.elapsedMs),
    milliseconds(experiment.p50Ms),
    milliseconds(experiment.p95Ms),
    count(experiment.hubRequests),
    count(experiment.hubWrites),
    count(experiment.spokeRequests),
    count(experiment.spokeWrites),
    residentBytes === undefined ? "" : megabytes(residentBytes),
    milliseconds(experiment.cpuMs),
    loopP99Ms === undefined ? "" : `${Math.round(loopP99Ms)} ms`,
    etcdBytes === undefined ? "" : megabytes(etcdBytes),
    note,
  ];
}

/** One line for each experiment. */
export function scaleReport({ experiments }: ScaleResult): string {
  return tableOf(headers, experiments.map(rowOf));
}

interface ScaleGoal extends Omit<Goal, "value"> {
  readonly experiment: string;
  readonly of: (experiment: Experiment, all: readonly Experiment[]) => number | undefined;
}

/** What each further replica takes beside the memory of one. */
function furtherBytes(
  { residentBytes = Number.NaN, replicas = 1 }: Experiment,
  all: readonly Experiment[],
): number {
  const alone = all.find(({ id }) => id === "c")?.residentBytes ?? Number.NaN;
  return (residentBytes - alone) / (replicas - 1);
}

const oneDigit = (value: number): string => value.toFixed(1);
const ratio = (value: number): string => value.toFixed(2);

const goals: readonly ScaleGoal[] = [
  {
    experiment: "a",
    text: "cold start to all connected and watched",
    of: ({ elapsedMs }) => elapsedMs,
    limit: 60_000,
    show: seconds,
  },
  { experiment: "a", text: "the same: writes to spokes", of: (a) => a.spokeWrites, limit: 0 },
  {
    experiment: "b",
    text: "hub writes a component when all are created at once",
    of: ({ hubWrites = Number.NaN, spokes }) => hubWrites / (spokes * 2),
    limit: 4,
    show: oneDigit,
  },
  {
    experiment: "b",
    text: "the same: event loop, 99th percentile in ms",
    of: ({ loopP99Ms }) => loopP99Ms,
    limit: 200,
    show: oneDigit,
  },
  {
    experiment: "c",
    text: "idle: requests beside watches and checks",
    of: ({ spokeRequests = Number.NaN, hubRequests = Number.NaN }) => spokeRequests + hubRequests,
    limit: 0,
  },
  {
    experiment: "c",
    text: "idle: memory",
    of: ({ residentBytes }) => residentBytes,
    limit: 1_200_000_000,
    show: megabytes,
  },
  {
    experiment: "c",
    text: "idle: percent of a core",
    of: ({ cpuMs = Number.NaN, elapsedMs = Number.NaN }) => (cpuMs / elapsedMs) * 100,
    limit: 20,
    show: oneDigit,
  },
  {
    experiment: "d",
    text: "repair of one object on a tenth of them, 95th percentile",
    of: ({ p95Ms }) => p95Ms,
    limit: 3_000,
    show: seconds,
  },
  {
    experiment: "e2",
    text: "a fifth goes dark, until all say so",
    of: ({ elapsedMs }) => elapsedMs,
    limit: 60_000,
    show: seconds,
  },
  {
    experiment: "e",
    text: "install time beside a fifth that is dark, against alone",
    of: ({ elapsedMs = Number.NaN, aloneMs = Number.NaN }) => elapsedMs / aloneMs,
    limit: 1.1,
    show: ratio,
  },
  {
    experiment: "f1",
    text: "several replicas start: writes to spokes",
    of: ({ spokeWrites }) => spokeWrites,
    limit: 0,
  },
  {
    experiment: "f2",
    text: "idle: memory of each further replica",
    of: furtherBytes,
    limit: 200_000_000,
    show: megabytes,
  },
  {
    experiment: "f3",
    text: "a replica is killed, until its spokes are served",
    of: ({ elapsedMs }) => elapsedMs,
    limit: 25_000,
    show: seconds,
  },
  {
    experiment: "f3",
    text: "the same: double writes",
    of: ({ doubleWrites }) => doubleWrites,
    limit: 0,
  },
  {
    experiment: "f4",
    text: "a replica stands still for 30 s: double writes",
    of: ({ doubleWrites }) => doubleWrites,
    limit: 0,
  },
  {
    experiment: "g",
    text: "a set upgrades all: its writes for each cluster",
    of: ({ setWrites = Number.NaN, spokes }) => setWrites / spokes,
    limit: 3,
    show: oneDigit,
  },
  {
    experiment: "g",
    text: "the same: bytes of its status",
    of: ({ setStatusBytes }) => setStatusBytes,
    limit: 32 * 1_024,
  },
  {
    experiment: "h",
    text: "kubectl knfleet status -A",
    of: ({ elapsedMs }) => elapsedMs,
    limit: 15_000,
    show: seconds,
  },
  {
    experiment: "h",
    text: "the same: memory",
    of: ({ residentBytes }) => residentBytes,
    limit: 250_000_000,
    show: megabytes,
  },
];

/** The goals are those for 1,000 spokes on two cores, however many there were. Spec: scale.md 2. */
export function scaleGoals({ spokes, experiments }: ScaleResult): readonly Goal[] {
  return goals.flatMap(({ experiment: id, of, text, ...goal }) => {
    const experiment = experiments.find((one) => one.id === id);
    if (experiment === undefined) return [];
    const value = of(experiment, experiments) ?? Number.NaN;
    return [{ ...goal, text: `${spokes} simulated spokes: ${text}`, value }];
  });
}
