import { describe, expect, test } from "vitest";

import { BoundedCache } from "../../../render/release/releases.ts";

describe("a bounded cache", () => {
  test("makes a value once, also for callers who ask meanwhile", async () => {
    const cache = new BoundedCache<object>(2);
    const [a, b] = await Promise.all([
      cache.get("key", async () => ({})),
      cache.get("key", async () => ({})),
    ]);
    expect(b).toBe(a);
  });

  test("forgets what was not used for the longest time", async () => {
    const cache = new BoundedCache<string>(2);
    const value = (key: string, text: string) => cache.get(key, async () => text);
    await value("a", "first");
    await value("b", "first");
    await value("a", "second");
    await value("c", "first");
    expect(cache.size).toBe(2);
    expect(await value("a", "third")).toBe("first");
    expect(await value("b", "second")).toBe("second");
  });

  test("does not remember a failure", async () => {
    const cache = new BoundedCache<string>(2);
    await expect(cache.get("key", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await cache.get("key", async () => "yes")).toBe("yes");
  });
});
