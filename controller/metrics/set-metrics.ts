import { Gauge, type Registry } from "prom-client";

import type { Clock } from "../../access/time/clock.ts";
import type { FleetSet } from "../../api/fleet-set.ts";
import type { Answers, WorkloadCounts } from "../../sets/check-answer.ts";

/** What is read of fleet sets at each scrape. */
export interface SetSources {
  readonly clock: Clock;
  sets(): Iterable<FleetSet>;
  /** The last answers to the checks of a set. */
  answersOf(set: FleetSet): Answers;
}

/** A series of a gauge: its labels besides those of the set, and its value. */
type Series = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Puts what the fleet sets say of themselves into a registry; a set that is gone has no series. Spec: sets.md R15. */
export function addSetMetrics(registry: Registry, sources: SetSources): void {
  const add = (name: string, help: string, seriesOf: (set: FleetSet) => readonly Series[]): void =>
    addSetGauge(registry, { name, help, seriesOf }, () => sources.sets());
  add("knfleet_set_clusters", "Clusters of a fleet set, by state", ({ status }) =>
    Object.entries(status?.clusters ?? {}).map(([state, count]) => [{ state }, count]),
  );
  add("knfleet_set_stage", "1 for the state of each stage of a fleet set", ({ status }) =>
    (status?.stages ?? []).map(({ name, state }) => [{ stage: name, state }, 1]),
  );
  add(
    "knfleet_set_phase",
    "1 for the phase of the rollout of a fleet set, and for SuspiciousShrink while its selection is",
    (set) => phasesOf(set).map((phase) => [{ phase }, 1]),
  );
  add(
    "knfleet_set_rollout_seconds",
    "How long the rollout of a fleet set has taken, in seconds; while it runs: until now",
    (set) => secondsOf(set, sources.clock.date().getTime()).map((seconds) => [{}, seconds]),
  );
  add(
    "knfleet_set_checks",
    "Clusters of a fleet set by their last answer to a check of its rollout: good, bad or unasked",
    (set) => checksOf(sources.answersOf(set)),
  );
}

/** Puts the workloads of clusters that rollouts verify into a registry. Spec: verify.md 1. */
export function addWorkloadMetrics(registry: Registry, all: () => WorkloadCounts): void {
  registry.registerMetric(
    new Gauge({
      name: "knfleet_workloads",
      help: "Workloads on the clusters that rollouts verify, by kind and by whether they are ready",
      labelNames: ["kind", "ready"],
      registers: [],
      collect() {
        this.reset();
        for (const [kind, { ready, notReady }] of all()) {
          this.set({ kind, ready: "true" }, ready);
          this.set({ kind, ready: "false" }, notReady);
        }
      },
    }),
  );
}

interface SetGauge {
  readonly name: string;
  readonly help: string;
  readonly seriesOf: (set: FleetSet) => readonly Series[];
}

function addSetGauge(
  registry: Registry,
  { name, help, seriesOf }: SetGauge,
  all: () => Iterable<FleetSet>,
): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: ["kind", "namespace", "set", "stage", "state", "phase", "check", "answer"],
    registers: [registry],
    collect() {
      this.reset();
      for (const set of all()) {
        for (const [labels, value] of seriesOf(set))
          gauge.set({ ...labelsOf(set), ...labels }, value);
      }
    },
  });
}

function labelsOf({ kind, metadata }: FleetSet) {
  return { kind, namespace: metadata.namespace, set: metadata.name };
}

function phasesOf({ status }: FleetSet): readonly string[] {
  const phase = status?.rollout?.phase;
  const isSuspicious = status?.conditions?.some(({ reason }) => reason === "SuspiciousShrink");
  return [...(phase === undefined ? [] : [phase]), ...(isSuspicious ? ["SuspiciousShrink"] : [])];
}

function checksOf(answers: Answers): readonly Series[] {
  const all = [...answers.values()].flatMap(({ checks }) =>
    [...checks].map(([check, { kind }]) => ({ check, answer: kind })),
  );
  const groups = Map.groupBy(all, ({ check, answer }) => `${check} ${answer}`);
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map((labels): Series => [labels, group.length]),
  );
}

/** From the beginning of the rollout to the last stage that was done. */
function secondsOf({ status }: FleetSet, now: number): readonly number[] {
  const { rollout, stages = [] } = status ?? {};
  if (rollout?.startedAt === undefined) return [];
  const ends = stages.flatMap(({ doneAt }) => (doneAt === undefined ? [] : [Date.parse(doneAt)]));
  const isOver = rollout.phase === "Complete" && ends.length > 0;
  const end = isOver ? Math.max(...ends) : now;
  return [Math.max(0, end - Date.parse(rollout.startedAt)) / 1_000];
}
