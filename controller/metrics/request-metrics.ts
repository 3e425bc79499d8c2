import { Counter, Histogram, type Registry } from "prom-client";

import type { RequestCounters } from "../../access/http/request-counters.ts";

/** What is counted of the requests to all clusters. */
export type RequestSource = Pick<RequestCounters, "snapshot" | "ends" | "onEnd">;

const seconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Puts the requests to the hub and to spokes into a registry, under client-go's names where it has one. */
export function addRequestMetrics(registry: Registry, requests: RequestSource): void {
  const registers = [registry];
  const byVerb = new Counter({
    name: "knfleet_requests_total",
    help: "Requests to the hub and to spokes, by Kubernetes verb",
    labelNames: ["verb"],
    registers,
    collect() {
      this.reset();
      for (const [verb, { requests: count }] of Object.entries(requests.snapshot())) {
        byVerb.inc({ verb }, count);
      }
    },
  });
  const byServer = new Counter({
    name: "rest_client_requests_total",
    help: "Requests that were answered or failed (<error>), by HTTP status, method and server; a server that is not used any more leaves after ten minutes",
    labelNames: ["code", "method", "host"],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of requests.ends()) byServer.inc(labels, count);
    },
  });
  addDurations(registers, requests);
}

function addDurations(registers: Registry[], requests: RequestSource): void {
  const durations = new Histogram({
    name: "rest_client_request_duration_seconds",
    help: "Seconds until the answer to a request began, by HTTP method, of all servers together and without watches",
    labelNames: ["verb"],
    buckets: seconds,
    registers,
  });
  const applies = new Counter({
    name: "knfleet_apply_requests_total",
    help: "Objects that were sent by server-side apply, by HTTP status of the answer (<error> without one)",
    labelNames: ["code"],
    registers,
  });
  // Lives as long as what it counts.
  requests.onEnd(({ verb, method, code, elapsedMs }) => {
    // What client-go calls the verb of a request is its method here.
    if (verb !== "watch") durations.observe({ verb: method }, elapsedMs / 1_000);
    if (verb === "apply") applies.inc({ code });
  });
}
