import { describe, expect, test, vi } from "vitest";

import { SpokeTraffic } from "./spoke-traffic.ts";

const write = (caller: string) => ({
  verb: "patch",
  resource: "configmaps",
  caller,
  isDryRun: false,
});

describe("requests to a virtual spoke", () => {
  test("are counted by verb and resource, dry runs apart, and only changes are writes", () => {
    const traffic = new SpokeTraffic();
    traffic.note(write("a"));
    traffic.note({ ...write("a"), isDryRun: true });
    traffic.note({ ...write("a"), verb: "list" });
    traffic.note({ ...write("a"), verb: "create", resource: "selfsubjectreviews" });
    expect(Object.fromEntries(traffic.counts)).toEqual({
      "patch configmaps": 1,
      "dry-run patch configmaps": 1,
      "list configmaps": 1,
      "create selfsubjectreviews": 1,
    });
    expect(traffic.writes).toBe(1);
  });

  test("of a caller that another one has replaced are refused when they write, and counted", () => {
    const traffic = new SpokeTraffic();
    expect([write("a"), write("b"), write("b")].map((one) => traffic.note(one))).toEqual([
      true,
      true,
      true,
    ]);
    expect(traffic.note({ ...write("a"), verb: "get" })).toBe(true);
    expect(traffic.doubleWrites).toBe(0);
    expect(traffic.note(write("a"))).toBe(false);
    expect(traffic.doubleWrites).toBe(1);
    expect(traffic.note(write("b"))).toBe(true);
  });

  test("of a replaced caller are welcome again when its successor was silent as long as a Lease lasts", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const traffic = new SpokeTraffic();
      traffic.note(write("a"));
      traffic.note(write("b"));
      vi.advanceTimersByTime(15_000);
      expect(traffic.note(write("a"))).toBe(true);
      expect(traffic.doubleWrites).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
