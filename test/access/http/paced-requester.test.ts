import { expect, test } from "vitest";

import { withPace } from "../../../access/http/paced-requester.ts";
import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import { Pace } from "../../../access/time/pace.ts";
import { knownResource } from "../../../api/resources.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { requesterTo, stub } from "../loopback.ts";

const { signal } = new AbortController();
const resource = knownResource("v1", "ConfigMap");

/** Three of each at once, and then two in a second. */
function slowPace() {
  const pace = { burst: 3, perSecond: 2 };
  return { requests: new Pace(pace), events: new Pace(pace) };
}

test("requests beyond the burst are sent at a pace, but for a question", async () => {
  const clock = new FakeClock();
  const api = await stub(() => ({ body: "{}" }));
  const sender = withPace(requesterTo(api), clock, slowPace());
  const client = createKubeClient(sender);
  const ask = (): Promise<unknown> => client.request("GET", "/version", undefined, signal);
  await Promise.all([ask(), ask(), ask()]);
  const fourth = ask();
  await clock.advance(400);
  expect(api.requests).toHaveLength(3);
  const question = { method: "GET", path: "/readyz", verb: "probe", headers: {} } as const;
  const now = { idempotent: false, isQuestion: true, timeoutMs: 10_000 };
  await sender.send({ ...question, ...now }, signal);
  expect(api.requests).toHaveLength(4);
  await clock.advance(200);
  await fourth;
  expect(api.requests).toHaveLength(5);
});

test("events beyond the burst are read at a pace, also those of another watch", async () => {
  const clock = new FakeClock();
  let version = 0;
  const endless = (): string => {
    version += 1;
    const metadata = { namespace: "n", name: "one", uid: "u", resourceVersion: String(version) };
    const filler = "x".repeat(40_000);
    return `${JSON.stringify({ type: "MODIFIED", object: { metadata, filler } })}\n`;
  };
  const api = await stub(() => ({ body: "", endless }));
  const client = createKubeClient(withPace(requesterTo(api), clock, slowPace()));
  const stop = new AbortController();
  let events = 0;
  const follow = async (): Promise<void> => {
    for await (const _event of client.watch({ resource }, { resourceVersion: "1" }, stop.signal)) {
      events += 1;
    }
  };
  const following = Promise.allSettled([follow(), follow()]);
  // Each event is 40 kB, which costs as much as ten.
  await expect.poll(() => clock.pending).toBe(2);
  const before = events;
  expect(before).toBeLessThan(4);
  for (let second = 0; second < 60; second += 1) await clock.advance(1_000);
  expect(events).toBeGreaterThan(before);
  expect(events).toBeLessThan(before + 20);
  stop.abort();
  await following;
});
