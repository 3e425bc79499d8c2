import { expect, test } from "vitest";

import { PathMetrics } from "../../../access/spokes/path-metrics.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { metricsOf } from "../../support/metrics.ts";

const { signal } = new AbortController();

function measured(): { path: PathMetrics; lines: () => Promise<readonly string[]> } {
  const path = new PathMetrics(systemClock);
  const metrics = metricsOf({ path });
  return { path, lines: async () => (await metrics.render()).split("\n") };
}

test("runs of plugins are counted by provider and code, with their duration", async () => {
  const { path, lines } = measured();
  const failure = new FleetError("AccessProviderFailed", "No", { code: "PluginTimeout" });
  await path.measure("sr", () => Promise.resolve(1), signal);
  await expect(path.measure("sr", () => Promise.reject(failure), signal)).rejects.toBe(failure);
  const given = AbortSignal.abort();
  await expect(path.measure("sr", () => Promise.reject(failure), given)).rejects.toBe(failure);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'knfleet_exec_plugin_runs_total{provider="sr",code="OK"} 1',
      'knfleet_exec_plugin_runs_total{provider="sr",code="PluginTimeout"} 1',
      'knfleet_exec_plugin_duration_seconds_count{provider="sr"} 2',
    ]),
  );
});

test("a spoke has its state and the end of its credential until it is gone", async () => {
  const { path, lines } = measured();
  path.setSpokeState("fleet/spoke-1", "connecting");
  path.setCredential("fleet/spoke-1", { expiresAtMs: Date.now() + 3_600_000 });
  path.setSpokeState("fleet/spoke-1", "connected");
  const labels = 'namespace="fleet",name="spoke-1"';
  const there = await lines();
  expect(there).toContain(`knfleet_spoke_connection{${labels},state="connected"} 1`);
  expect(there.filter((line) => line.includes('state="connecting"'))).toEqual([]);
  const expiry = there.find((line) =>
    line.startsWith(`knfleet_spoke_credential_expiry_seconds{${labels}}`),
  );
  expect(Number(expiry?.split(" ").at(-1))).toBeGreaterThan(3_590);
  path.removeSpoke("fleet/spoke-1");
  path.setCredential("fleet/spoke-1", { expiresAtMs: Date.now() });
  expect((await lines()).filter((line) => line.includes("spoke-1"))).toEqual([]);
});

test("a credential without an end has none in the metrics", async () => {
  const { path, lines } = measured();
  path.setSpokeState("fleet/spoke-1", "connected");
  path.setCredential("fleet/spoke-1", {});
  const found = (await lines()).filter((line) => line.startsWith("knfleet_spoke_credential"));
  expect(found).toEqual([]);
});

test("a credential that the spoke refuses, or that belonged to a closed connection, has no end in the metrics", async () => {
  const { path, lines } = measured();
  const ends = async (): Promise<number> =>
    (await lines()).filter((line) => line.startsWith("knfleet_spoke_credential")).length;
  const old = { expiresAtMs: Date.now() + 3_600_000 };
  const next = { expiresAtMs: Date.now() + 7_200_000 };
  path.setSpokeState("fleet/spoke-1", "connected");
  path.setCredential("fleet/spoke-1", old);
  expect(await ends()).toBe(1);
  path.dropCredential("fleet/spoke-1", old);
  expect(await ends()).toBe(0);
  path.setCredential("fleet/spoke-1", old);
  path.setCredential("fleet/spoke-1", next);
  // The connection that was replaced is closed after the new one is there.
  path.dropCredential("fleet/spoke-1", old);
  expect(await ends()).toBe(1);
});

test.each([
  { isValid: true, says: 1 },
  { isValid: false, says: 0 },
])("a provider file that is valid ($isValid) is $says", async ({ isValid, says }) => {
  const { path, lines } = measured();
  path.setProviderFileValid(isValid);
  expect(await lines()).toContain(`knfleet_provider_file_valid ${says}`);
});

test("files that are not there are neither valid nor invalid, so that nobody is alarmed", async () => {
  const names = ["knfleet_provider_file_valid", "knfleet_reference_grants_valid"];
  const series = async (metrics: ReturnType<typeof metricsOf>) =>
    (await metrics.render()).split("\n").filter((line) => names.includes(line.split(" ")[0] ?? ""));
  expect(await series(metricsOf({ path: new PathMetrics(systemClock) }))).toEqual([]);
  let isValid: boolean | undefined = true;
  const metrics = metricsOf({ areGrantsValid: () => isValid });
  expect(await series(metrics)).toEqual(["knfleet_reference_grants_valid 1"]);
  isValid = false;
  expect(await series(metrics)).toEqual(["knfleet_reference_grants_valid 0"]);
  isValid = undefined;
  expect(await series(metrics)).toEqual([]);
});
