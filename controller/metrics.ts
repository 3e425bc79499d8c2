import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import type { PathMetrics } from "../access/path-metrics.ts";
import { addPathMetrics } from "./path-metrics.ts";
import type { Next, QueueObserver } from "./queue.ts";

/** What is counted; the names are those of client-go and controller-runtime where they have one. */
export interface Metrics extends QueueObserver {
  /** A reconcile failed; reason and code are of the catalogue. */
  failed(failure: { readonly reason: string; readonly code: string | undefined }): void;
  /** Objects that were sent to a cluster, by how that ended. */
  sent(objects: Readonly<Record<"applied" | "parked" | "failed" | "pruned", number>>): void;
  /** Kinds of objects that somebody else had deleted or changed and that were put right. */
  repaired(kinds: readonly string[]): void;
  leading(isLeader: boolean): void;
  /** Everything as Prometheus text; `contentType` is its media type. */
  render(): Promise<string>;
  readonly contentType: string;
}

/** Numbers that are read when the metrics are asked for. */
export interface MetricSources {
  queueDepth(): number;
  activeWorkers(): number;
  connectedSpokes(): number;
  /** Requests so far to all clusters, by Kubernetes verb. */
  requests(): Readonly<Record<string, { readonly requests: number }>>;
  /** The path to the spokes; absent: it is not measured. */
  readonly path?: PathMetrics;
}

const name = "knfleet";
const durations = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const results = {
  done: "success",
  change: "success",
  after: "requeue_after",
  backoff: "error",
} as const satisfies Readonly<Record<Next["kind"], string>>;

/** Metrics of one controller, in a registry of its own. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addLiveNumbers(registry, sources);
  if (sources.path !== undefined) addPathMetrics(registry, sources.path);
  return {
    ...workMetrics(registry),
    ...applyMetrics(registry),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}

function addLiveNumbers(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  const live = (metric: string, help: string, read: (gauge: Gauge<"name" | "verb">) => void) =>
    registry.registerMetric(
      new Gauge({
        name: metric,
        help,
        labelNames: ["name", "verb"] as const,
        registers: [],
        collect() {
          read(this);
        },
      }),
    );
  live("workqueue_depth", "Components that wait for a worker", (gauge) =>
    gauge.set({ name }, sources.queueDepth()),
  );
  live("controller_runtime_active_workers", "Components that are worked on", (gauge) =>
    gauge.set(sources.activeWorkers()),
  );
  live("knfleet_connected_spokes", "Spokes that are connected", (gauge) =>
    gauge.set(sources.connectedSpokes()),
  );
  const counter = new Counter({
    name: "knfleet_requests_total",
    help: "Requests to the hub and to spokes, by Kubernetes verb",
    labelNames: ["verb"],
    registers,
    collect() {
      this.reset();
      for (const [verb, { requests }] of Object.entries(sources.requests())) {
        counter.inc({ verb }, requests);
      }
    },
  });
}

function workMetrics(registry: Registry): QueueObserver {
  const registers = [registry];
  const adds = new Counter({
    name: "workqueue_adds_total",
    help: "Components that were queued",
    labelNames: ["name"],
    registers,
  });
  const retries = new Counter({
    name: "workqueue_retries_total",
    help: "Components that were queued again after a failure",
    labelNames: ["name"],
    registers,
  });
  const waited = new Histogram({
    name: "workqueue_queue_duration_seconds",
    help: "Seconds that a component waited for a worker",
    labelNames: ["name"],
    buckets: durations,
    registers,
  });
  const worked = new Histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "Seconds that a reconcile took",
    labelNames: ["controller"],
    buckets: durations,
    registers,
  });
  const reconciles = new Counter({
    name: "controller_runtime_reconcile_total",
    help: "Reconciles, by result",
    labelNames: ["controller", "result"],
    registers,
  });
  return {
    added: () => adds.inc({ name }),
    started: (waitedMs) => waited.observe({ name }, waitedMs / 1_000),
    ended: (next, workedMs) => {
      worked.observe({ controller: name }, workedMs / 1_000);
      reconciles.inc({ controller: name, result: results[next.kind] });
      if (next.kind === "backoff") retries.inc({ name });
    },
  };
}

function applyMetrics(
  registry: Registry,
): Pick<Metrics, "failed" | "sent" | "repaired" | "leading"> {
  const registers = [registry];
  const failures = new Counter({
    name: "knfleet_reconcile_failures_total",
    help: "Reconciles that failed, by reason and code",
    labelNames: ["reason", "code"],
    registers,
  });
  const objects = new Counter({
    name: "knfleet_objects_total",
    help: "Objects that were sent to a cluster, by how that ended",
    labelNames: ["result"],
    registers,
  });
  const repairs = new Counter({
    name: "knfleet_drift_repairs_total",
    help: "Objects that somebody else had deleted or changed and that were put right, by kind",
    labelNames: ["kind"],
    registers,
  });
  const leader = new Gauge({
    name: "leader_election_master_status",
    help: "1 while this process leads",
    labelNames: ["name"],
    registers,
  });
  leader.set({ name }, 0);
  return {
    failed: ({ reason, code = "" }) => failures.inc({ reason, code }),
    sent: (counts) => {
      for (const [result, count] of Object.entries(counts)) objects.inc({ result }, count);
    },
    repaired: (kinds) => {
      for (const kind of kinds) repairs.inc({ kind });
    },
    leading: (isLeader) => leader.set({ name }, isLeader ? 1 : 0),
  };
}
