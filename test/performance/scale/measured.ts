import type { ControllerProcess } from "../../support/controller-process.ts";
import { type Usage, usageOf } from "../process-usage.ts";
import { etcdBytes } from "./etcd-bytes.ts";
import {
  type ControlledFleet,
  hubRequests,
  metricOf,
  resetTraffic,
  spokeTraffic,
} from "./scale-fleet.ts";

/** What one experiment showed. What it does not measure is absent. */
export interface Experiment {
  /** A letter, and a number where there are several. */
  readonly id: string;
  readonly title: string;
  readonly spokes: number;
  /** Controllers that share the fleet; absent: one. */
  readonly replicas?: number;
  readonly elapsedMs?: number;
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly hubRequests?: number;
  readonly hubWrites?: number;
  readonly spokeRequests?: number;
  readonly spokeWrites?: number;
  readonly doubleWrites?: number;
  /** Of all controllers together. */
  readonly residentBytes?: number;
  readonly cpuMs?: number;
  readonly loopP99Ms?: number;
  /** What the hub's etcd stores at the end, older revisions included that are not compacted yet. */
  readonly etcdBytes?: number;
  /** Writes for the decisions of a fleet set: components that it stamped, its status and its revisions. */
  readonly setWrites?: number;
  /** The most that the status of a fleet set had. */
  readonly setStatusBytes?: number;
  /** How long the same took without what disturbs it. */
  readonly aloneMs?: number;
  /** Anything else, in words. */
  readonly note?: string;
}

type Figures = Awaited<ReturnType<typeof figuresSince>>;

/** Runs something and measures the controllers meanwhile: time, processor, memory, event loop, and requests to the hub and to spokes. */
export async function measured(
  controlled: ControlledFleet,
  run: () => Promise<void>,
): Promise<Figures & { readonly elapsedMs: number }> {
  const { scale, controllers } = controlled;
  resetTraffic(scale);
  // The event loop is measured from the last reading on.
  await Promise.all(controllers.map((controller) => controller.metrics()));
  const [since, before] = [new Date(), await usageOfAll(controllers)];
  const startedAt = performance.now();
  await run();
  const elapsedMs = performance.now() - startedAt;
  const figures = await figuresSince(controlled, since);
  return { ...figures, elapsedMs, cpuMs: figures.cpuMs - before.cpuMs };
}

/** What the controllers use, and what they sent since a time; the processor and the event loop from their start or the last reading on. */
export async function figuresSince({ scale, controllers }: ControlledFleet, since: Date) {
  const { cpuMs, residentBytes } = await usageOfAll(controllers);
  const lags = await Promise.all(
    controllers.map((controller) => metricOf(controller, "nodejs_eventloop_lag_p99_seconds")),
  );
  const hub = await hubRequests(scale, since);
  const spokes = spokeTraffic(scale);
  return {
    spokes: scale.spokes.length,
    replicas: controllers.length,
    cpuMs,
    residentBytes,
    loopP99Ms: Math.max(...lags) * 1_000,
    etcdBytes: await etcdBytes(scale.fleet.hub),
    hubRequests: hub.all.length,
    hubWrites: hub.writes,
    spokeRequests: spokes.requests,
    spokeWrites: spokes.writes,
    doubleWrites: spokes.doubleWrites,
  };
}

async function usageOfAll(
  controllers: readonly ControllerProcess[],
): Promise<Pick<Usage, "cpuMs" | "residentBytes">> {
  const usages = await Promise.all(controllers.map(({ pid }) => usageOf(pid)));
  const sum = (of: (usage: Usage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0);
  return {
    cpuMs: sum(({ cpuMs }) => cpuMs),
    residentBytes: sum(({ residentBytes }) => residentBytes),
  };
}

/** Median and 95th percentile of some times. */
export function quantiles(times: readonly number[]): {
  readonly p50Ms: number;
  readonly p95Ms: number;
} {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
  return { p50Ms: at(0.5), p95Ms: at(0.95) };
}
