import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";

import type { PathMetrics } from "../../access/spokes/path-metrics.ts";
import type { Component } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { targetId } from "../../api/keys.ts";
import { contestedCondition } from "../../api/reasons.ts";
import type { WorkloadCounts } from "../../sets/check-answer.ts";
import type { QueueObserver } from "../queue/queue.ts";
import { addDiscoveryMetrics, type DiscoveredCluster } from "./discovery-metrics.ts";
import { addLiveGauge, addValidityGauge } from "./live-gauge.ts";
import { addPathMetrics, addRequestMetrics, type RequestSource } from "./path-metrics.ts";
import { addQueueMetrics, type QueueSources } from "./queue-metrics.ts";
import { addSetMetrics, addWorkloadMetrics, type SetSources } from "./set-metrics.ts";

/** The metrics of a controller. Their names are those of client-go and controller-runtime where they have one. */
export interface Metrics extends QueueObserver {
  /** Counts a failed reconcile. Reason and code are of the catalogue. */
  countFailure(failure: { readonly reason: string; readonly code: string | undefined }): void;
  /** Counts a reconcile that ended because the hub could not be read or written. */
  countHubFailure(): void;
  /** Counts objects that were sent to a cluster, by result. */
  countObjects(objects: Readonly<Record<"applied" | "parked" | "failed" | "pruned", number>>): void;
  /** Counts repaired objects, by kind. */
  countRepairs(kinds: readonly string[]): void;
  /** Tells how many shards this process serves. It leads if there is one. */
  setShardsHeld(count: number): void;
  /** All metrics as Prometheus text. `contentType` is its media type. */
  render(): Promise<string>;
  readonly contentType: string;
}

/** Values that are read at each scrape. */
export interface MetricSources extends QueueSources, SetSources {
  connectedSpokes(): number;
  components(): Iterable<Component>;
  /** The workloads on clusters that rollouts verify. */
  workloads(): WorkloadCounts;
  discovered(): Iterable<DiscoveredCluster>;
  /** The requests to all clusters. */
  readonly requests: RequestSource;
  /** Shards of the fleet, served or not. */
  readonly shards: number;
  /** Whether the present file of reference grants is valid. Undefined: there is no file. */
  readonly areGrantsValid?: () => boolean | undefined;
  /** The path to the spokes. Absent: it is not measured. */
  readonly path?: PathMetrics;
}

const leaderName = "knfleet";

/** Metrics of one controller, in a registry of its own. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const observer = addQueueMetrics(registry, sources);
  addRequestMetrics(registry, sources.requests);
  addComponentMetrics(registry, () => sources.components());
  addSetMetrics(registry, sources);
  addWorkloadMetrics(registry, () => sources.workloads());
  addDiscoveryMetrics(registry, () => sources.discovered());
  if (sources.path !== undefined) addPathMetrics(registry, sources.clock, sources.path);
  const grants = {
    name: "knfleet_reference_grants_valid",
    help: "1 when the file of reference grants is in use, 0 when it is not usable and the last good one is",
  };
  addValidityGauge(registry, grants, () => sources.areGrantsValid?.());
  const connected = { name: "knfleet_connected_spokes", help: "Spokes that are connected" };
  addLiveGauge(registry, { ...connected, labels: {} }, () => sources.connectedSpokes());
  return {
    ...observer,
    ...applyMetrics(registry),
    setShardsHeld: addShardMetrics(registry, sources.shards),
    contentType: registry.contentType,
    render: async () => plainMetrics(await registry.metrics()),
  };
}

// The longest name of a namespace or an object.
const longestLabel = 253;
const labelValue = /"((?:[^"\\\n]|\\.)*)"/g;

/** Makes the values of labels plain and short. Some are names that others chose, such as those of providers and versions. */
function plainMetrics(text: string): string {
  const plain = text.replaceAll(labelValue, (whole, value: string) => {
    if (value.length <= longestLabel && /^[\x20-\x7e]*$/.test(value)) return whole;
    // A cut may leave half an escape.
    const short = foreignText(value, longestLabel).replace(/(?<!\\)(?:\\\\)*\\$/, (end) =>
      end.slice(1),
    );
    return `"${short}"`;
  });
  return plain === text ? text : withoutRepeats(plain);
}

/** Keeps the first of the series that are the same by now: a scraper refuses all metrics for the second one. */
function withoutRepeats(text: string): string {
  const seen = new Set<string>();
  const kept = text.split("\n").filter((line) => {
    const series = line.slice(0, line.lastIndexOf(" "));
    const isRepeat = !line.startsWith("#") && line !== "" && seen.has(series);
    seen.add(series);
    return !isRepeat;
  });
  return kept.join("\n");
}

function applyMetrics(
  registry: Registry,
): Pick<Metrics, "countFailure" | "countHubFailure" | "countObjects" | "countRepairs"> {
  const registers = [registry];
  const failures = new Counter({
    name: "knfleet_reconcile_failures_total",
    help: "Reconciles that failed, by reason and code",
    labelNames: ["reason", "code"],
    registers,
  });
  const hubFailures = new Counter({
    name: "knfleet_hub_failures_total",
    help: "Reconciles that ended because the hub could not be read or written",
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
  return {
    countFailure: ({ reason, code = "" }) => failures.inc({ reason, code }),
    countHubFailure: () => hubFailures.inc(),
    countObjects: (counts) => {
      for (const [result, count] of Object.entries(counts)) objects.inc({ result }, count);
    },
    countRepairs: (kinds) => {
      for (const kind of kinds) repairs.inc({ kind });
    },
  };
}

function addShardMetrics(registry: Registry, shards: number): Metrics["setShardsHeld"] {
  const registers = [registry];
  const leader = new Gauge({
    name: "leader_election_master_status",
    help: "1 while this process leads, or serves at least one shard",
    labelNames: ["name"],
    registers,
  });
  leader.set({ name: leaderName }, 0);
  const all = { name: "knfleet_shards", help: "Shards of the fleet, served or not", registers };
  new Gauge(all).set(shards);
  const held = new Gauge({
    name: "knfleet_shards_held",
    help: "Shards of the fleet that this process serves",
    registers,
  });
  return (count) => {
    leader.set({ name: leaderName }, count > 0 ? 1 : 0);
    held.set(count);
  };
}

/** Adds gauges of the status of each component. A deleted component has no series. */
function addComponentMetrics(registry: Registry, read: () => Iterable<Component>): void {
  const registers = [registry];
  const ready = new Gauge({
    name: "knfleet_component_ready",
    help: "1 for what the condition Ready of a component says: True, False or Unknown",
    labelNames: ["kind", "namespace", "name", "status"],
    registers,
    collect() {
      this.reset();
      for (const component of read()) {
        ready.set({ ...labelsOf(component), status: readinessOf(component) }, 1);
      }
    },
  });
  const contested = new Gauge({
    name: "knfleet_component_contested",
    help: "1 while somebody else changes or deletes objects of a component again and again",
    labelNames: ["kind", "namespace", "name"],
    registers,
    collect() {
      this.reset();
      for (const component of read()) {
        contested.set(labelsOf(component), isContested(component) ? 1 : 0);
      }
    },
  });
  const info = new Gauge({
    name: "knfleet_component_info",
    help: "1 with the version that is installed (empty: none yet) and the ClusterProfile of a component (empty: the hub)",
    labelNames: ["kind", "namespace", "name", "version", "spoke"],
    registers,
    collect() {
      this.reset();
      for (const component of read()) {
        const { version = "" } = component.status ?? {};
        info.set({ ...labelsOf(component), version, spoke: targetId(component) }, 1);
      }
    },
  });
}

function labelsOf({ kind, metadata }: Component) {
  const { namespace, name } = metadata;
  return { kind, namespace, name };
}

function isContested({ status }: Component): boolean {
  return status?.conditions?.some(({ type }) => type === contestedCondition) ?? false;
}

function readinessOf({ status }: Component): string {
  const ready = conditionOf(status?.conditions, "Ready");
  return ready?.status ?? "Unknown";
}
