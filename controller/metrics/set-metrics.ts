import { Gauge, type Registry } from "prom-client";

import type { Clock } from "../../access/time/clock.ts";
import type { FleetSet } from "../../api/fleet-set.ts";
import type { WorkloadCounts } from "../../sets/check-answer.ts";

/** A series of a gauge: its labels besides those of the set, and its value. */
type Series = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Puts what the fleet sets say of themselves into a registry; a set that is gone has no series. Spec: sets.md R15. */
export function addSetMetrics(
  registry: Registry,
  clock: Pick<Clock, "date">,
  all: () => Iterable<FleetSet>,
): void {
  const add = (name: string, help: string, seriesOf: (set: FleetSet) => readonly Series[]): void =>
    addSetGauge(registry, { name, help, seriesOf }, all);
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
    (set) => secondsOf(set, clock.date().getTime()).map((seconds) => [{}, seconds]),
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
    labelNames: ["kind", "namespace", "set", "stage", "state", "phase"],
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

/** From the beginning of the rollout to the last stage that was done. */
function secondsOf({ status }: FleetSet, now: number): readonly number[] {
  const { rollout, stages = [] } = status ?? {};
  if (rollout?.startedAt === undefined) return [];
  const ends = stages.flatMap(({ doneAt }) => (doneAt === undefined ? [] : [Date.parse(doneAt)]));
  const isOver = rollout.phase === "Complete" && ends.length > 0;
  const end = isOver ? Math.max(...ends) : now;
  return [Math.max(0, end - Date.parse(rollout.startedAt)) / 1_000];
}
