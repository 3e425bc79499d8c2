import { Registry } from "prom-client";
import { expect, test, vi } from "vitest";

import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import { PathMetrics } from "../../../access/spokes/path-metrics.ts";
import { addPathMetrics } from "../../../controller/metrics/path-metrics.ts";
import { SpokesWorld } from "../../access/spokes/spokes-world.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const signal = AbortSignal.timeout(600_000);
const ref = { namespace: "fleet", name: "a" };
const labels = 'namespace="fleet",name="a"';
const patience = { timeout: 60_000, interval: 20 };

test("the metrics follow a spoke from its first connection until it is gone", async () => {
  const clock = new FakeClock();
  /** Time passes until it holds, so much from one look to the next. */
  const until = (stepMs: number, check: () => Promise<void>): Promise<void> =>
    vi.waitFor(async () => {
      await clock.advance(stepMs);
      await check();
    }, patience);
  await using world = await SpokesWorld.start();
  await world.take({ kind: "file", is: "that fails", by: "swap" });
  const path = new PathMetrics(clock);
  const registry = new Registry();
  addPathMetrics(registry, clock, path);
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
      clock,
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
  await until(100, async () => expect(await runs("PluginFailed")).toBe(2));

  // It waits for its turn now, and no listener is told of that.
  await world.take({ kind: "file", is: "plain", by: "swap" });
  await until(10, async () => expect(await states()).toEqual(["connecting"]));
  await until(500, async () => expect(await states()).toEqual(["connected"]));
  expect(await runs("OK")).toBe(1);
  const failed = await runs("PluginFailed");
  expect(await linesWith("knfleet_exec_plugin_duration_seconds_count")).toEqual([
    `knfleet_exec_plugin_duration_seconds_count{provider="sr"} ${failed + 1}`,
  ]);
  const [expiry = ""] = await linesWith(`knfleet_spoke_credential_expiry_seconds{${labels}}`);
  const left = Number(expiry.split(" ").at(-1));
  const end = Date.parse("2099-01-01T00:00:00Z");
  expect(Math.abs(left - (end - Number(clock.date())) / 1_000)).toBeLessThan(60);

  await world.take({ kind: "file", is: "invalid", by: "write" });
  await until(100, async () =>
    expect(await linesWith("knfleet_provider_file_valid ")).toEqual([
      "knfleet_provider_file_valid 0",
    ]),
  );

  await world.take({ kind: "profile", name: "a", to: "deleted" });
  await until(100, async () => expect(await linesWith(labels)).toEqual([]));
}, 90_000);
