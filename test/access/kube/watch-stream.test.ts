import { setImmediate } from "node:timers/promises";

import { describe, expect, test, vi } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import type { KubeClient, WatchEvent } from "../../../access/kube/kube-client.ts";
import { knownResource } from "../../../api/resources.ts";
import type { StubAnswer } from "../api-stub.ts";
import { requesterTo, stub } from "../loopback.ts";

const resource = knownResource("v1", "ConfigMap");
const signal = AbortSignal.timeout(600_000);

async function clientOf(answer: StubAnswer): Promise<KubeClient> {
  return createKubeClient(requesterTo(await stub(() => answer)));
}

function lines(...events: readonly unknown[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join("");
}

function object(name: string): object {
  return { metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "7" } };
}

async function eventsOf(client: KubeClient): Promise<readonly WatchEvent[]> {
  return Array.fromAsync(client.watch({ resource }, { resourceVersion: "1" }, signal));
}

describe("a watch", () => {
  test("that the server ends has given all its events", async () => {
    const client = await clientOf({
      body: lines(
        { type: "ADDED", object: object("a") },
        { type: "DELETED", object: object("a") },
        { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } },
      ),
    });
    expect(await eventsOf(client)).toMatchObject([
      { type: "ADDED", object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } } },
      { type: "DELETED" },
      { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: false },
    ]);
  });

  test.each([
    {
      name: "in an event",
      answer: {
        body: lines({
          type: "ERROR",
          object: { kind: "Status", code: 410, reason: "Expired", message: "too old" },
        }),
      },
    },
    {
      name: "at once",
      answer: {
        status: 410,
        body: JSON.stringify({ kind: "Status", code: 410, reason: "Expired", message: "too old" }),
      },
    },
  ])("from a version that is too old is a 410, said $name", async ({ answer }) => {
    const client = await clientOf(answer);
    await expect(eventsOf(client)).rejects.toMatchObject({ status: 410, reason: "Expired" });
  });

  test("that is cut in the middle of an event is an error", async () => {
    const client = await clientOf({
      body: `${lines({ type: "ADDED", object: object("a") })}{"type"`,
    });
    expect(await eventsOf(client)).toHaveLength(1);
  });

  test("with rubbish is an error that does not quote it", async () => {
    const client = await clientOf({ body: "canary\n" });
    const work = eventsOf(client);
    await expect(work).rejects.toThrow("cannot be read");
    await expect(work).rejects.not.toThrow("canary");
  });
});

test("what the consumer does not want any more ends on the server too", async () => {
  const api = await stub(() => ({
    body: lines({ type: "ADDED", object: object("a") }),
    open: true,
  }));
  const client = createKubeClient(requesterTo(api));
  for await (const event of client.watch({ resource }, {}, signal)) {
    expect(event.type).toBe("ADDED");
    break;
  }
  // All places for streams are free again: many more watches than places can be opened one after the other.
  for (let times = 0; times < 40; times += 1) {
    for await (const _ of client.watch({ resource }, {}, signal)) break;
  }
  expect(api.requests).toHaveLength(41);
});

describe("closing the connection right after a watch ends in no error that nobody hears", () => {
  const body = lines({ type: "ADDED", object: object("a") });

  test.each([
    { name: "when the watch was aborted while it was read", reads: 2 },
    { name: "when the watch was aborted before it was read", reads: 0 },
  ])("$name", async ({ reads }) => {
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown): void => void uncaught.push(error);
    process.on("uncaughtException", onUncaught);
    const api = await stub(() => ({ body, open: true }));
    const requester = requesterTo(api);
    const stop = new AbortController();
    const watch = createKubeClient(requester).watch({ resource }, {}, stop.signal);
    const iterator = watch[Symbol.asyncIterator]();
    const first = iterator.next();
    await (reads > 0 ? first : vi.waitUntil(() => api.requests.length === 1, { timeout: 60_000 }));
    const settled = Promise.allSettled([first, ...(reads > 1 ? [iterator.next()] : [])]);
    stop.abort(new Error("Stopped"));
    await requester[Symbol.asyncDispose]();
    await settled;
    await setImmediate();
    process.off("uncaughtException", onUncaught);
    expect(uncaught).toEqual([]);
  });
});
