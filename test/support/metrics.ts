import { RequestCounters } from "../../access/http/request-counters.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import {
  createMetrics,
  type Metrics,
  type MetricSources,
} from "../../controller/metrics/metrics.ts";

/** Metrics of a controller in which nothing happens but what is given. */
export function metricsOf(sources: Partial<MetricSources> = {}): Metrics {
  return createMetrics({
    clock: systemClock,
    queueDepth: () => 0,
    activeWorkers: () => 0,
    concurrency: 16,
    connectedSpokes: () => 0,
    components: () => [],
    sets: () => [],
    workloads: () => new Map(),
    answersOf: () => new Map(),
    discovered: () => [],
    shards: 1,
    requests: new RequestCounters(systemClock),
    ...sources,
  });
}
