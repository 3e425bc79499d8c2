import { Counter, Histogram, type Registry } from "prom-client";

import type { Clock } from "../../access/time/clock.ts";
import type { Next } from "../queue/delays.ts";
import type { QueueObserver } from "../queue/queue.ts";
import { addLiveGauge } from "./live-gauge.ts";

/** Numbers of the queue that are read at each scrape. */
export interface QueueSources {
  readonly clock: Clock;
  queueDepth(): number;
  activeWorkers(): number;
  /** How many components may be worked on at once. */
  readonly concurrency: number;
}

const name = "knfleet";
const controller = "knfleet";
const seconds = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const results = {
  done: "success",
  change: "success",
  after: "requeue_after",
  sweep: "requeue_after",
  backoff: "error",
} as const satisfies Readonly<Record<Next["kind"], string>>;

/** Adds the metrics of the queue and of reconciles, under the names of client-go and controller-runtime. */
export function addQueueMetrics(registry: Registry, sources: QueueSources): QueueObserver {
  const registers = [registry];
  /** Start of each reconcile that is running, by key. */
  const running = new Map<string, number>();
  addLiveGauges(registry, sources, running);
  const counts = countersIn(registers);
  const times = histogramsIn(registers);
  return {
    added: () => counts.adds.inc({ name }),
    started: (key, waitedMs) => {
      running.set(key, sources.clock.now());
      times.waited.observe({ name }, waitedMs / 1_000);
    },
    ended: (key, next, workedMs) => {
      running.delete(key);
      times.worked.observe({ name }, workedMs / 1_000);
      times.reconciled.observe({ controller }, workedMs / 1_000);
      counts.reconciles.inc({ controller, result: results[next.kind] });
      if (next.kind !== "backoff") return;
      counts.errors.inc({ controller });
      counts.retries.inc({ name });
    },
  };
}

function addLiveGauges(
  registry: Registry,
  sources: QueueSources,
  running: ReadonlyMap<string, number>,
): void {
  const runningSeconds = (): number[] =>
    [...running.values()].map((startedAt) => (sources.clock.now() - startedAt) / 1_000);
  const ofQueue = (metric: string, help: string, read: () => number): void =>
    addLiveGauge(registry, { name: metric, help, labels: { name } }, read);
  const ofController = (metric: string, help: string, read: () => number): void =>
    addLiveGauge(registry, { name: metric, help, labels: { controller } }, read);
  ofQueue("workqueue_depth", "Components that wait for a worker", () => sources.queueDepth());
  ofQueue(
    "workqueue_unfinished_work_seconds",
    "Seconds that the reconciles which are running have taken so far, all added up",
    () => runningSeconds().reduce((sum, each) => sum + each, 0),
  );
  ofQueue(
    "workqueue_longest_running_processor_seconds",
    "Seconds that the longest of the reconciles which are running has taken so far",
    () => Math.max(0, ...runningSeconds()),
  );
  ofController("controller_runtime_active_workers", "Components that are worked on", () =>
    sources.activeWorkers(),
  );
  ofController(
    "controller_runtime_max_concurrent_reconciles",
    "Components that may be worked on at once; slow ones do not count",
    () => sources.concurrency,
  );
}

function countersIn(registers: Registry[]) {
  const counter = <Label extends string>(metric: string, help: string, labels: readonly Label[]) =>
    new Counter({ name: metric, help, labelNames: [...labels], registers });
  return {
    adds: counter("workqueue_adds_total", "Components that were queued", ["name"]),
    retries: counter(
      "workqueue_retries_total",
      "Components that were queued again after a failure",
      ["name"],
    ),
    reconciles: counter("controller_runtime_reconcile_total", "Reconciles, by result", [
      "controller",
      "result",
    ]),
    errors: counter(
      "controller_runtime_reconcile_errors_total",
      "Reconciles that are tried again",
      ["controller"],
    ),
  };
}

function histogramsIn(registers: Registry[]) {
  const histogram = <Label extends string>(metric: string, help: string, label: Label) =>
    new Histogram({ name: metric, help, labelNames: [label], buckets: seconds, registers });
  return {
    waited: histogram(
      "workqueue_queue_duration_seconds",
      "Seconds that a component waited for a worker",
      "name",
    ),
    worked: histogram(
      "workqueue_work_duration_seconds",
      "Seconds that work on a component took",
      "name",
    ),
    reconciled: histogram(
      "controller_runtime_reconcile_time_seconds",
      "Seconds that a reconcile took",
      "controller",
    ),
  };
}
