import { expect, onTestFinished, test } from "vitest";

import { KeepBudget } from "../../../access/kube/keep-budget.ts";
import { KeepingReflector } from "../../../access/kube/reflector.ts";
import { ExcessPause } from "../../../access/spokes/excess-pause.ts";
import { delay } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { rethrow } from "../../support/rethrow.ts";
import type { StubAnswer } from "../api-stub.ts";
import { connected, patience } from "./quiet-connection.ts";

const resource = knownResource("v1", "ConfigMap");
// Of a server that knows no `sendInitialEvents`.
const refusal = JSON.stringify({ kind: "Status", code: 400, message: "no" });
const each = { objects: 100, bytes: 1024 * 1024 };

/** So many names in a watch that never says that its list is complete. */
function names(count: number): StubAnswer {
  const events = Array.from({ length: count }, (_, at) => {
    const metadata = { namespace: "n", name: `n-${at}`, uid: `u-${at}`, resourceVersion: "1" };
    return `${JSON.stringify({ type: "ADDED", object: { metadata } })}\n`;
  });
  return { body: events.join(""), open: true };
}

test.each(["a watch", "pages"])(
  "a spoke that names more objects in %s than may be kept has failed, and nothing of it is kept",
  async (way) => {
    const page = { metadata: { resourceVersion: "1" }, items: [...objectsOf(names(101))] };
    const { keeper, client, versions } = await connected(() => ({}), {
      kept: new KeepBudget({
        kind: each,
        cluster: each,
        own: 1024,
        shared: 1024 * 1024,
        sharedPerCluster: 0,
      }),
      all: ({ path }) => {
        if (!path.includes("/configmaps")) return undefined;
        if (!path.includes("watch=true")) return { body: JSON.stringify(page) };
        return way === "pages" ? { status: 400, body: refusal } : names(101);
      },
    });
    const deleted: string[] = [];
    const { signal } = keeperSignal();
    const reflector = new KeepingReflector<KubeObject>(
      { client, clock: systemClock, ref: { resource }, keep: (object) => object },
      {
        onChange: () => undefined,
        onDelete: ({ metadata }) => void deleted.push(metadata.name),
        onBug: rethrow,
      },
      signal,
    );
    reflector.synced.catch(() => undefined);
    await expect
      .poll(() => keeper.state, patience)
      .toMatchObject({
        kind: "failed",
        error: { reason: "RemoteClientCreationFailed", code: "TooLarge" },
      });
    expect(reflector.isSynced).toBe(false);
    expect([...reflector.values()]).toEqual([]);
    // Nobody is told that objects are gone.
    expect(deleted).toEqual([]);
    await expect(keeper.acquire(signal)).rejects.toMatchObject({ code: "TooLarge" });
    // A 400 to a watch is a doubt, after which the server is asked once. Nobody has connected again.
    expect(versions()).toBeLessThanOrEqual(way === "pages" ? 2 : 1);
  },
);

test("a spoke that has events without end is read at its pace, whatever connection they come from", async () => {
  const none = new KeepBudget({
    kind: { objects: 100_000, bytes: 1024 ** 3 },
    cluster: { objects: 100_000, bytes: 1024 ** 3 },
    own: 1024 ** 3,
    shared: 1024 ** 3,
    sharedPerCluster: 0,
  });
  const { client } = await connected(() => ({}), {
    kept: none,
    all: ({ path }) => (path.includes("watch=true") ? names(2_500) : undefined),
  });
  const startedAt = performance.now();
  let heard = 0;
  const { signal } = keeperSignal();
  for (const kind of ["ConfigMap", "Secret"]) {
    const ref = { resource: knownResource("v1", kind) };
    const onChange = (): number => (heard += 1);
    const handlers = { onChange, onDelete: () => undefined, onBug: rethrow };
    const watch = { client, clock: systemClock, ref, keep: (object: KubeObject) => object };
    new KeepingReflector<KubeObject>(watch, handlers, signal).synced.catch(() => undefined);
  }
  await expect.poll(() => heard, patience).toBeGreaterThan(1_400);
  await delay(systemClock, 300, signal);
  // 5,000 were sent: 1,500 are read at once, then 60 a second, and of each watch the rest of 64 KiB that have come.
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(heard).toBeLessThanOrEqual(1_500 + 60 * seconds + 2 * 600);
});

test("the pauses after an excess grow, and begin anew after an hour without one", () => {
  const pause = new ExcessPause();
  const clock = new FakeClock();
  const lasts = (now: number): number => {
    clock.jump(now - clock.now());
    pause.begin(clock);
    return (pause.endsAt - now) / 1_000;
  };
  const seconds = [0, 1, 2, 3, 4, 5].map((at) => lasts(at * 700_000));
  for (const [index, most] of [30, 60, 120, 240, 480, 600].entries()) {
    expect(seconds[index]).toBeGreaterThan(most * 0.74);
    expect(seconds[index]).toBeLessThanOrEqual(most);
  }
  expect(lasts(20_000_000)).toBeLessThanOrEqual(30);
  pause.end();
  expect(pause.endsAt).toBe(-Infinity);
});

function keeperSignal(): AbortController {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return stop;
}

function objectsOf({ body = "" }: StubAnswer): readonly unknown[] {
  return body.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).object]));
}
