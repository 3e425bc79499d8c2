import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeList, WatchEvent, WatchOptions } from "../../../access/kube/kube-client.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { apiError } from "../../support/api-error.ts";

const ref = { resource: knownResource("v1", "ConfigMap"), namespace: "n" };

/** What one watch request does: gives these events and then ends, fails, or stays open. */
interface Script {
  /** How long it goes on after its events. Default: as long as was asked for. */
  readonly lastsMs?: number;
  readonly events?: readonly WatchEvent[];
  readonly end: "ends" | "stays" | Error;
}

let stop: AbortController;
let watches: (string | undefined)[];
let lists: number;
let told: string[];
let errors: unknown[];
let bugs: unknown[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  stop = new AbortController();
  watches = [];
  lists = 0;
  told = [];
  errors = [];
  bugs = [];
});

afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

function object(name: string, resourceVersion: string, uid = `uid-${name}`): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "n", name, uid, resourceVersion },
  };
}

const added = (name: string, version: string, uid?: string): WatchEvent => ({
  type: "ADDED",
  object: object(name, version, uid),
});
const bookmark = (resourceVersion: string, initialEventsEnd = false): WatchEvent => ({
  type: "BOOKMARK",
  resourceVersion,
  initialEventsEnd,
});
const gone = apiError(410, "Expired");

function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

function reflecting(scripts: readonly Script[], list?: KubeList): Reflector {
  const remaining = [...scripts];
  const client = {
    async *watch(_ref: unknown, options: WatchOptions, signal: AbortSignal) {
      watches.push(options.resourceVersion);
      const script = remaining.shift() ?? { end: "stays" };
      yield* script.events ?? [];
      vi.advanceTimersByTime(script.lastsMs ?? 1_000 * (options.timeoutSeconds ?? 0));
      if (script.end === "stays") {
        await new Promise((resolve) => {
          if (signal.aborted) resolve(undefined);
          signal.addEventListener("abort", resolve, { once: true });
        });
      } else if (script.end !== "ends") {
        throw script.end;
      }
    },
    list() {
      lists += 1;
      return Promise.resolve(list ?? { items: [], resourceVersion: "1" });
    },
  };
  return new Reflector(
    { clock: systemClock, client, ref },
    {
      onChange: ({ metadata }, before) => {
        told.push(`${before === undefined ? "+" : "~"}${metadata.name}`);
        if (metadata.name === "bug") throw new TypeError("bug");
      },
      onDelete: ({ metadata }) => told.push(`-${metadata.name}`),
      onError: (error) => errors.push(error),
      onBug: (error) => bugs.push(error),
      onSynced: ({ wentBack }) => void (wentBack && told.push("wentBack")),
      onInterrupted: () => {
        told.push("interrupted");
        if (told.includes("+bug at the end")) throw new TypeError("bug");
      },
    },
    stop.signal,
  );
}

async function watched(times: number): Promise<void> {
  await vi.waitFor(() => expect(watches.length).toBeGreaterThanOrEqual(times), { timeout: 60_000 });
}

describe("a reflector", () => {
  test("continues after the last version when the server ends the watch", async () => {
    const reflector = reflecting([
      { events: [added("a", "3"), bookmark("5", true), bookmark("9")], end: "ends" },
    ]);
    await reflector.synced;
    await watched(2);
    expect(watches).toEqual([undefined, "9"]);
    expect(errors).toEqual([]);
  });

  test("that is refreshed reads the collection anew, though its watch seems to be well", async () => {
    const reflector = reflecting([
      { events: [added("a", "3"), added("b", "4"), bookmark("5", true)], end: "stays" },
      { events: [added("b", "4"), added("c", "8"), bookmark("9", true)], end: "stays" },
    ]);
    await reflector.synced;
    await reflector.refresh();
    expect(watches).toEqual([undefined, undefined]);
    expect(told).toEqual(["+a", "+b", "+c", "-a"]);
    expect(errors).toEqual([]);
  });

  test("that is refreshed waits for nothing, and not for the list that it was reading", async () => {
    const failure = new ConnectionError("refused", "no");
    const reflector = reflecting([
      { events: [added("a", "3"), bookmark("5", true)], end: failure },
      { events: [added("old", "4")], end: "stays" },
      { events: [added("b", "8"), bookmark("9", true)], end: "stays" },
    ]);
    await vi.waitFor(() => expect(errors).toEqual([failure]), 30_000);
    const first = reflector.refresh();
    await vi.waitFor(() => expect(told.at(-1)).toBe("+old"), { timeout: 300 });
    await Promise.all([first, reflector.refresh()]);
    expect(watches).toEqual([undefined, undefined, undefined]);
    expect(told).toEqual(["+a", "interrupted", "+old", "+b", "-a", "-old"]);
  });

  test("that is refreshed and stopped says so", async () => {
    const reflector = reflecting([
      { events: [bookmark("5", true)], end: "stays" },
      { end: "stays" },
    ]);
    await reflector.synced;
    const refreshing = reflector.refresh();
    reflector[Symbol.dispose]();
    await expect(refreshing).rejects.toThrow("stopped");
    await expect(reflector.refresh()).rejects.toThrow("stopped");
  });

  test("lists anew after 410 and finds out what is gone, without telling what is the same", async () => {
    const reflector = reflecting([
      { events: [added("a", "3"), added("b", "4"), bookmark("5", true)], end: gone },
      { events: [added("b", "4"), added("c", "8"), bookmark("9", true)], end: "stays" },
    ]);
    await watched(2);
    const news = ["+a", "+b", "interrupted", "+c", "-a"];
    await vi.waitFor(() => expect(told).toEqual(news), 30_000);
    expect(watches).toEqual([undefined, undefined]);
    expect([...reflector.values()].map(({ metadata }) => metadata.name)).toEqual(["b", "c"]);
    expect(errors).toEqual([]);
  });

  test("lists anew after a watch that never said a word, and tells when an older state was restored", async () => {
    reflecting([
      { events: [added("a", "30"), added("b", "40"), bookmark("50", true)], end: "ends" },
      { end: new ConnectionError("timeout", "silence"), lastsMs: 180_000 },
      { events: [added("a", "20"), bookmark("25", true)], end: "ends" },
      { events: [bookmark("26")], end: "ends" },
    ]);
    await watched(5);
    expect(watches).toEqual([undefined, "50", undefined, "25", "26"]);
    expect(told).toEqual(["+a", "+b", "interrupted", "~a", "-b", "wentBack"]);
  });

  test("begins again from nothing when the first list is cut off", async () => {
    const reflector = reflecting([
      { events: [added("a", "3")], end: "ends" },
      { events: [added("a", "3"), bookmark("5", true)], end: "stays" },
    ]);
    await reflector.synced;
    expect(watches).toEqual([undefined, undefined]);
    expect(told).toEqual(["+a"]);
  });

  test("tells a deletion and a creation when an object came back as another", async () => {
    reflecting([
      { events: [added("a", "3", "one"), bookmark("5", true)], end: gone },
      { events: [added("a", "8", "two"), bookmark("9", true)], end: "stays" },
    ]);
    const news = ["+a", "interrupted", "-a", "+a"];
    await vi.waitFor(() => expect(told).toEqual(news), 30_000);
  });

  test.each([
    { what: "failed", end: new ConnectionError("reset", "cut"), failures: 1 },
    { what: "ended before its time", end: "ends" as const, failures: 0 },
  ])(
    "lists anew after a watch that $what, and the list replaces what was known",
    async ({ end, failures }) => {
      const reflector = reflecting([
        { events: [added("a", "30"), added("b", "40"), bookmark("50", true)], end, lastsMs: 2_000 },
        // The server has come further than it was since the older state was restored.
        { events: [added("a", "20"), added("b", "40"), bookmark("60", true)], end: "stays" },
      ]);
      const news = ["+a", "+b", "interrupted", "~a"];
      await vi.waitFor(() => expect(told).toEqual(news), { timeout: 60_000 });
      expect(watches).toEqual([undefined, undefined]);
      expect(reflector.get("n/a")?.metadata.resourceVersion).toBe("20");
      expect(errors).toHaveLength(failures);
    },
  );

  test("says once that it was interrupted, however often it fails before the next list", async () => {
    const failure = new ConnectionError("refused", "no");
    reflecting([
      { events: [bookmark("5", true)], end: failure },
      { end: failure },
      { events: [added("a", "6")], end: failure },
      { events: [added("a", "6"), bookmark("7", true)], end: "ends" },
    ]);
    await watched(5);
    expect(told).toEqual(["interrupted", "+a"]);
    expect(watches).toEqual([undefined, undefined, undefined, undefined, "7"]);
    expect(errors).toHaveLength(3);
  });

  test.each([[{ events: [added("bug", "6"), bookmark("7", true)], end: "stays" } as const], []])(
    "tells a handler that throws as a bug, and not as a failure of the server (%#)",
    async (...scripts) => {
      const list = { items: [object("bug", "6")], resourceVersion: "7" };
      reflecting(scripts.length === 0 ? [{ end: apiError(400, "BadRequest") }] : scripts, list);
      await vi.waitFor(() => expect(bugs[0]).toEqual(new TypeError("bug")), { timeout: 60_000 });
      expect(errors.filter((error) => !(error instanceof ApiError))).toEqual([]);
    },
  );

  test.each([["ends" as const], [new ConnectionError("refused", "no")]])(
    "tells a bug of who hears of the interruption, and watches again (%s)",
    async (end) => {
      const events = [added("bug at the end", "6"), bookmark("7", true)];
      reflecting([{ events, lastsMs: 1, end }]);
      await watched(2);
      expect(bugs).toEqual([new TypeError("bug")]);
      expect(errors).toEqual(end === "ends" ? [] : [end]);
    },
  );

  test("makes the next attempt at once when it is hastened after a failure", async () => {
    const failures = Array.from({ length: 5 }, () => new ConnectionError("refused", "no"));
    const reflector = reflecting(failures.map((end) => ({ end })));
    for (let count = 1; count <= failures.length; count += 1) {
      // Without it the fourth and fifth attempt would be made after 4 s and more each.
      await vi.waitFor(() => expect(errors).toHaveLength(count), { timeout: 3_000, interval: 5 });
      await settled();
      reflector.hasten();
    }
    await watched(6);
    reflector.hasten();
    await settled();
    expect(watches).toHaveLength(6);
  });

  test("asks nothing before the time that the server asked for, whoever hastens or refreshes", async () => {
    const busy = apiError(429, "TooManyRequests", "busy", 1_000);
    const reflector = reflecting([
      { events: [bookmark("5", true)], end: busy },
      { events: [bookmark("6", true)], end: "stays" },
    ]);
    await vi.waitFor(() => expect(errors).toEqual([busy]), { timeout: 60_000, interval: 5 });
    reflector.hasten();
    const refreshing = reflector.refresh();
    await settled();
    reflector.hasten();
    await settled();
    expect(watches).toEqual([undefined]);
    // The time of the test stands still until it is told to go on.
    vi.advanceTimersByTime(1_250);
    await refreshing;
    expect(watches).toEqual([undefined, undefined]);
  });

  test("lists in pages when the server cannot begin a watch with a list", async () => {
    const list = { items: [object("a", "3")], resourceVersion: "4" };
    const reflector = reflecting([{ end: apiError(422, "Invalid") }], list);
    await reflector.synced;
    await watched(2);
    expect(lists).toBe(1);
    expect(watches).toEqual([undefined, "4"]);
    expect(told).toEqual(["+a"]);
  });

  test("is silent once it is stopped", async () => {
    const reflector = reflecting([{ events: [bookmark("5", true)], end: "stays" }]);
    await reflector.synced;
    reflector[Symbol.dispose]();
    await Promise.resolve();
    expect(watches).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test("that never got its list says so when it is stopped", async () => {
    const reflector = reflecting([{ end: "stays" }]);
    stop.abort(new Error("Stopped"));
    await expect(reflector.synced).rejects.toThrow("Stopped");
  });
});
