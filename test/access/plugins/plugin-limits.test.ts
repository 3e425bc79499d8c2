import { expect, test } from "vitest";

import { PluginLimits } from "../../../access/plugins/plugin-limits.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { fileOf, rawProvider } from "../builders.ts";

/** How many of twenty plugins of a provider run when those that began take long. */
async function entered(
  limits: PluginLimits,
  provider: string,
  maxConcurrency?: number,
): Promise<number> {
  const says = maxConcurrency === undefined ? {} : { maxConcurrency };
  const late = AbortSignal.timeout(300);
  const places = await Promise.allSettled(
    Array.from({ length: 20 }, () => limits.enter({ provider, ...says }, late)),
  );
  return places.filter(({ status }) => status === "fulfilled").length;
}

test("four plugins that take long leave their places to others, and no more of a provider run than it says", async () => {
  const limits = new PluginLimits(systemClock, { limit: 8, longLimit: 4, longMs: 1 });
  expect(await entered(limits, "says one", 1)).toBe(1);
  // Two, and the three that are left of the four.
  expect(await entered(limits, "says nothing")).toBe(2 + 3);
  expect(await entered(limits, "other")).toBe(2);
  expect(await entered(limits, "many", 20)).toBe(4);
});

test("a plugin that took long gives its place back when it ends", async () => {
  const limits = new PluginLimits(systemClock, { limit: 1, longLimit: 1, longMs: 1 });
  const signal = AbortSignal.timeout(60_000);
  for (let round = 0; round < 3; round += 1) {
    const first = await limits.enter({ provider: "a" }, signal);
    const second = await limits.enter({ provider: "b" }, signal);
    first[Symbol.dispose]();
    second[Symbol.dispose]();
  }
  expect(await entered(limits, "c")).toBe(2);
});

test("the provider file in use says how many plugins run, also of those that wait", async () => {
  const limits = new PluginLimits(systemClock, { limit: 64, longLimit: 4, longMs: 60_000 });
  const fileSays = (maxConcurrency?: number): void => {
    const says = maxConcurrency === undefined ? {} : { maxConcurrency };
    limits.follow(fileOf(rawProvider("one", says), rawProvider("one", { maxConcurrency: 20 })));
  };
  fileSays(1);
  const first = entered(limits, "one", 1);
  fileSays(5);
  expect(await first).toBe(5);
  // Those five run still, and what their connections remember does not count.
  fileSays(7);
  expect(await entered(limits, "one", 1)).toBe(2);
  const other = new PluginLimits(systemClock, { limit: 64, longLimit: 4, longMs: 60_000 });
  other.follow(fileOf(rawProvider("one", {})));
  expect(await entered(other, "one", 20)).toBe(2);
  expect(await entered(other, "gone from the file", 3)).toBe(3);
});

test("plugins that wait when their provider gets a limit keep their places also when they take long", async () => {
  const limits = new PluginLimits(systemClock, { limit: 64, longLimit: 4, longMs: 1 });
  limits.follow(fileOf(rawProvider("one", {})));
  const running = entered(limits, "one");
  limits.follow(fileOf(rawProvider("one", { maxConcurrency: 2 })));
  expect(await running).toBe(2);
});
