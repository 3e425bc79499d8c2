import { beforeEach, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient, WatchEvent } from "../../../access/kube/kube-client.ts";
import { lead } from "../../../controller/leader/leader.ts";
import { defaultLeaseTimes } from "../../../controller/leader/lease.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

let clock: FakeClock;
let hub: MemoryHub;
/** When the connection was exchanged, in s. */
let exchanges: number[];

beforeEach(() => {
  clock = new FakeClock();
  hub = new MemoryHub();
  exchanges = [];
});

/** Leads for some minutes, and works over a connection that watches like this. */
async function leadFor(minutes: number, watch: KubeClient["watch"]): Promise<void> {
  const exchange = (): void => void exchanges.push(clock.now() / 1_000);
  const workConnections = [{ client: { list: hub.list, watch }, exchange }];
  const lease = { namespace: "knfleet-system", name: "knfleet-controller", identity: "one" };
  const times = defaultLeaseTimes;
  const options = { ...lease, client: hub, workConnections, times, clock, log: silentLog };
  await using leadership = await lead(options, new AbortController().signal);
  await clock.advance(minutes * 60_000);
  expect(leadership.mayWrite()).toBe(true);
}

/** The watch of a server whose storage is stuck. */
async function* stuck(signal: AbortSignal): AsyncGenerator<WatchEvent> {
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  yield* [];
}

test("a connection on which the renewals appear is kept, and nothing is asked over it", async () => {
  await leadFor(10, hub.watch);
  expect(exchanges).toEqual([]);
  // One creates the Lease, and each of the others renews it or lets it go.
  expect(hub.requests).toBe(2 + 300 + 1);
});

test("a connection on which no renewal appears is exchanged after 12 s, and less and less often while that does not help", async () => {
  await leadFor(10, (_ref, _options, signal) => stuck(signal));
  expect(exchanges).toEqual([12, 36, 84, 180, 300, 420, 540]);
});

test("a hub that is slow is not left again and again for a renewal that appears now and then", async () => {
  await leadFor(10, async function* (ref, options, signal) {
    for await (const event of hub.watch(ref, options, signal)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      clock.after(20_000, resolve);
      await promise;
      yield event;
    }
  });
  expect(exchanges).toEqual([12]);
});

test("a connection that showed every renewal for minutes is exchanged as early as at first when it does not any more", async () => {
  let isStuck = true;
  await leadFor(10, async function* (ref, options, signal) {
    void clock.after(13_000, () => (isStuck = false));
    void clock.after(500_000, () => (isStuck = true));
    for await (const event of hub.watch(ref, options, signal)) if (!isStuck) yield event;
  });
  expect(exchanges).toEqual([12, 510, 534, 582]);
});

test.each([
  {
    what: "that cannot list by a watch is no refusal: the connection is exchanged when it hangs",
    status: 422,
  },
  {
    what: "that had no time for the watch once is no refusal: the connection is exchanged when it hangs then",
    status: 429,
  },
])("a server $what", async ({ status }) => {
  let isFirst = true;
  await leadFor(1, (_ref, _options, signal) => {
    if (!isFirst) return stuck(signal);
    isFirst = false;
    throw answered(status);
  });
  expect(exchanges).toEqual([12, 36]);
});

function answered(status: number): ApiError {
  const facts = { reason: "", message: "", causes: [], isStatus: true };
  return new ApiError({ ...facts, status, request: "GET /leases" });
}

test("a connection over which the Lease may not be watched is kept", async () => {
  await leadFor(10, () => {
    throw answered(403);
  });
  expect(exchanges).toEqual([]);
});

test("a connection is left alone when its leader has stopped", async () => {
  let isWatched = false;
  await leadFor(1, async function* (_ref, _options, signal) {
    isWatched = true;
    yield* stuck(signal);
    isWatched = false;
  });
  await settled();
  expect(isWatched).toBe(false);
});
