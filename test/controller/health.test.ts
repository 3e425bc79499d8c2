import { expect, test } from "vitest";

import { startHealthServer } from "../../controller/health.ts";
import { metricsOf } from "../support/metrics.ts";

const loopback = { host: "127.0.0.1", port: 0 };

async function ask(port: number, path: string, method = "GET") {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  return { status: response.status, text: await response.text() };
}

test("the process is healthy while it answers, and ready when nothing is missing", async () => {
  const missing = ["the hub"];
  await using server = await startHealthServer(loopback, {
    metrics: metricsOf(),
    waitingFor: () => missing,
  });
  expect(await ask(server.port, "/healthz")).toEqual({ status: 200, text: "ok\n" });
  expect(await ask(server.port, "/readyz")).toEqual({ status: 503, text: "waiting for the hub\n" });
  missing.pop();
  expect(await ask(server.port, "/readyz?verbose")).toEqual({ status: 200, text: "ok\n" });
  expect(await ask(server.port, "/other")).toMatchObject({ status: 404 });
  expect(await ask(server.port, "/healthz", "POST")).toMatchObject({ status: 405 });
});

test("the metrics are served with their media type", async () => {
  const metrics = metricsOf({ connectedSpokes: () => 7 });
  await using server = await startHealthServer(loopback, { metrics, waitingFor: () => [] });
  const { status, text } = await ask(server.port, "/metrics");
  expect(status).toBe(200);
  expect(text).toContain("knfleet_connected_spokes 7\n");
});

test("a port that is taken is an error of configuration", async () => {
  const deps = { metrics: metricsOf(), waitingFor: () => [] };
  await using server = await startHealthServer(loopback, deps);
  await expect(startHealthServer({ ...loopback, port: server.port }, deps)).rejects.toMatchObject({
    reason: "ConfigInvalid",
  });
});
