import { expect, test } from "vitest";

import { startHealthServer } from "../../controller/health.ts";
import { createMetrics } from "../../controller/metrics.ts";

const loopback = { host: "127.0.0.1", port: 0 };

function metricsUnderTest() {
  return createMetrics({
    queueDepth: () => 3,
    activeWorkers: () => 2,
    connectedSpokes: () => 7,
    requests: () => ({ apply: { requests: 150 }, watch: { requests: 19 } }),
  });
}

async function ask(port: number, path: string, method = "GET") {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  return { status: response.status, text: await response.text() };
}

test("the process is healthy while it answers, and ready when nothing is missing", async () => {
  const missing = ["the hub"];
  await using server = await startHealthServer(loopback, {
    metrics: metricsUnderTest(),
    waitingFor: () => missing,
  });
  expect(await ask(server.port, "/healthz")).toEqual({ status: 200, text: "ok\n" });
  expect(await ask(server.port, "/readyz")).toEqual({ status: 503, text: "waiting for the hub\n" });
  missing.pop();
  expect(await ask(server.port, "/readyz?verbose")).toEqual({ status: 200, text: "ok\n" });
  expect(await ask(server.port, "/other")).toMatchObject({ status: 404 });
  expect(await ask(server.port, "/healthz", "POST")).toMatchObject({ status: 405 });
});

test("the metrics tell the live numbers and what was counted", async () => {
  const metrics = metricsUnderTest();
  await using server = await startHealthServer(loopback, { metrics, waitingFor: () => [] });
  metrics.added();
  metrics.started(20);
  metrics.ended({ kind: "backoff" }, 40);
  metrics.failed({ reason: "RemoteClientCreationFailed", code: "Unreachable" });
  metrics.failed({ reason: "AnchorConflict", code: undefined });
  metrics.sent({ applied: 150, parked: 0, failed: 1, pruned: 2 });
  metrics.repaired(["Deployment", "ConfigMap", "Deployment"]);
  metrics.leading(true);
  await ask(server.port, "/metrics");
  const { text } = await ask(server.port, "/metrics");
  for (const line of [
    'workqueue_depth{name="knfleet"} 3',
    "controller_runtime_active_workers 2",
    "knfleet_connected_spokes 7",
    'knfleet_requests_total{verb="apply"} 150',
    'workqueue_adds_total{name="knfleet"} 1',
    'workqueue_retries_total{name="knfleet"} 1',
    'controller_runtime_reconcile_total{controller="knfleet",result="error"} 1',
    'knfleet_reconcile_failures_total{reason="RemoteClientCreationFailed",code="Unreachable"} 1',
    'knfleet_reconcile_failures_total{reason="AnchorConflict",code=""} 1',
    'knfleet_objects_total{result="applied"} 150',
    'knfleet_drift_repairs_total{kind="Deployment"} 2',
    'leader_election_master_status{name="knfleet"} 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  expect(text).toContain("process_resident_memory_bytes ");
});

test("a port that is taken is an error of configuration", async () => {
  const deps = { metrics: metricsUnderTest(), waitingFor: () => [] };
  await using server = await startHealthServer(loopback, deps);
  await expect(startHealthServer({ ...loopback, port: server.port }, deps)).rejects.toMatchObject({
    reason: "ConfigInvalid",
  });
});
