import { expect, test } from "vitest";

import { PluginLimits } from "../../access/plugin-limits.ts";

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
  const limits = new PluginLimits({ limit: 8, longLimit: 4, longMs: 1 });
  expect(await entered(limits, "says one", 1)).toBe(1);
  // Two, and the three that are left of the four.
  expect(await entered(limits, "says nothing")).toBe(2 + 3);
  expect(await entered(limits, "other")).toBe(2);
  expect(await entered(limits, "many", 20)).toBe(4);
});

test("a plugin that took long gives its place back when it ends", async () => {
  const limits = new PluginLimits({ limit: 1, longLimit: 1, longMs: 1 });
  const signal = AbortSignal.timeout(60_000);
  for (let round = 0; round < 3; round += 1) {
    const first = await limits.enter({ provider: "a" }, signal);
    const second = await limits.enter({ provider: "b" }, signal);
    first[Symbol.dispose]();
    second[Symbol.dispose]();
  }
  expect(await entered(limits, "c")).toBe(2);
});
