import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { RequestCounters } from "../../access/http/request-counters.ts";
import type { PathMetrics, SpokeGauge } from "../../access/spokes/path-metrics.ts";
import type { Clock } from "../../access/time/clock.ts";
import { namespacedName } from "../../api/keys.ts";
import { addLiveGauge, addValidityGauge } from "./live-gauge.ts";

const runSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Adds the metrics of the path to the spokes: plugins, credentials, connections and the provider file. */
export function addPathMetrics(
  registry: Registry,
  clock: Pick<Clock, "date">,
  path: PathMetrics,
): void {
  const registers = [registry];
  const runs = new Counter({
    name: "knfleet_exec_plugin_runs_total",
    help: "Runs of plugins and built-in readers, by provider and the code of the failure (OK without one)",
    labelNames: ["provider", "code"],
    registers,
  });
  const durations = new Histogram({
    name: "knfleet_exec_plugin_duration_seconds",
    help: "Seconds that a run of a plugin took",
    labelNames: ["provider"],
    buckets: runSeconds,
    registers,
  });
  // Never unsubscribed: the metrics live as long as the path.
  path.onRun(({ provider, code, durationMs }) => {
    runs.inc({ provider, code });
    durations.observe({ provider }, durationMs / 1_000);
  });
  addSpokeGauges(registers, clock, path);
  const sharing = {
    name: "knfleet_spokes_sharing_token",
    help: "Spokes whose token is sent to the server of another spoke, too",
    labels: {},
  };
  addLiveGauge(registry, sharing, () => path.tokens.count());
  const validity = {
    name: "knfleet_provider_file_valid",
    help: "1 when the provider file on disk is in use, 0 when it is not usable and the last good one is",
  };
  addValidityGauge(registry, validity, () => path.isProviderFileValid());
}

function addSpokeGauges(
  registers: Registry[],
  clock: Pick<Clock, "date">,
  path: PathMetrics,
): void {
  const states = new Gauge({
    name: "knfleet_spoke_connection",
    help: "1 for the state that the connection to a spoke is in: connecting, connected, lost or failed",
    labelNames: ["namespace", "name", "state"],
    registers,
    collect() {
      this.reset();
      for (const [key, { state }] of path.spokes())
        states.set({ ...namespacedName(key), state }, 1);
    },
  });
  const expiries = new Gauge({
    name: "knfleet_spoke_credential_expiry_seconds",
    help: "Seconds until the credential of a spoke ends; absent when that is not known, or the spoke refuses it",
    labelNames: ["namespace", "name"],
    registers,
    collect() {
      this.reset();
      for (const [key, gauge] of path.spokes()) {
        const left = secondsLeft(gauge, clock.date().getTime());
        if (left !== undefined) expiries.set({ ...namespacedName(key) }, left);
      }
    },
  });
}

function secondsLeft({ expiresAtMs }: SpokeGauge, nowMs: number): number | undefined {
  return expiresAtMs === undefined ? undefined : (expiresAtMs - nowMs) / 1_000;
}

/** Counters of the requests to all clusters. */
export type RequestSource = Pick<RequestCounters, "snapshot" | "ends" | "onEnd">;

const requestSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Adds the metrics of the requests to the hub and to spokes, under client-go's names where it has one. */
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
    buckets: requestSeconds,
    registers,
  });
  const applies = new Counter({
    name: "knfleet_apply_requests_total",
    help: "Objects that were sent by server-side apply, by HTTP status of the answer (<error> without one)",
    labelNames: ["code"],
    registers,
  });
  // Never unsubscribed: the metrics live as long as the counters.
  requests.onEnd(({ verb, method, code, elapsedMs }) => {
    // client-go calls the HTTP method `verb`.
    if (verb !== "watch") durations.observe({ verb: method }, elapsedMs / 1_000);
    if (verb === "apply") applies.inc({ code });
  });
}
