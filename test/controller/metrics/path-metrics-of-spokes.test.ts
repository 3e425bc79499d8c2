import { Registry } from "prom-client";
import { expect, test, vi } from "vitest";

import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import { PathMetrics } from "../../../access/spokes/path-metrics.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { addPathMetrics } from "../../../controller/metrics/path-metrics.ts";
import { SpokesWorld } from "../../access/spokes/spokes-world.ts";

const signal = AbortSignal.timeout(600_000);
const ref = { namespace: "fleet", name: "a" };
const labels = 'namespace="fleet",name="a"';
const patience = { timeout: 60_000, interval: 20 };

test("the metrics follow a spoke from its first connection until it is gone", async () => {
  await using world = await SpokesWorld.start();
  await world.take({ kind: "file", is: "that fails", by: "swap" });
  const path = new PathMetrics(systemClock);
  const registry = new Registry();
  addPathMetrics(registry, systemClock, path);
  const linesWith = async (text: string): Promise<readonly string[]> =>
    (await registry.metrics())
      .split("\n")
      .filter((line) => !line.startsWith("#") && line.includes(text));
  const states = async (): Promise<readonly string[]> =>
    (await linesWith(`knfleet_spoke_connection{${labels}`)).map(
      (line) => /state="(\w+)"\} 1$/.exec(line)?.[1] ?? line,
    );
  await using spokes = await openSpokes(
    {
      clock: systemClock,
      hub: world.hub,
      providerFile: world.file,
      environment: { PATH: "/usr/bin:/bin" },
      userAgent: "test",
      path,
    },
    signal,
  );
  // Nobody has asked for it.
  expect(await linesWith(labels)).toEqual([]);
  expect(await linesWith("knfleet_provider_file_valid ")).toEqual([
    "knfleet_provider_file_valid 1",
  ]);

  await expect(spokes.acquire(ref, signal)).rejects.toMatchObject({ code: "PluginFailed" });
  expect(await states()).toEqual(["failed"]);
  const runs = async (code: string): Promise<number> => {
    const line = `knfleet_exec_plugin_runs_total{provider="sr",code="${code}"}`;
    return Number((await linesWith(line))[0]?.split(" ").at(-1));
  };
  await vi.waitFor(async () => expect(await runs("PluginFailed")).toBe(2), patience);

  // It waits for its turn now, and no listener is told of that.
  await world.take({ kind: "file", is: "plain", by: "swap" });
  await vi.waitFor(async () => expect(await states()).toEqual(["connecting"]), patience);
  await vi.waitFor(async () => expect(await states()).toEqual(["connected"]), patience);
  expect(await runs("OK")).toBe(1);
  const failed = await runs("PluginFailed");
  expect(await linesWith("knfleet_exec_plugin_duration_seconds_count")).toEqual([
    `knfleet_exec_plugin_duration_seconds_count{provider="sr"} ${failed + 1}`,
  ]);
  const [expiry = ""] = await linesWith(`knfleet_spoke_credential_expiry_seconds{${labels}}`);
  const left = Number(expiry.split(" ").at(-1));
  const end = Date.parse("2099-01-01T00:00:00Z");
  expect(Math.abs(left - (end - Date.now()) / 1_000)).toBeLessThan(60);

  await world.take({ kind: "file", is: "invalid", by: "write" });
  await vi.waitFor(
    async () =>
      expect(await linesWith("knfleet_provider_file_valid ")).toEqual([
        "knfleet_provider_file_valid 0",
      ]),
    patience,
  );

  await world.take({ kind: "profile", name: "a", to: "deleted" });
  await vi.waitFor(async () => expect(await linesWith(labels)).toEqual([]), patience);
}, 90_000);
