import { expect, test } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import { Gate } from "../../../access/spokes/gate.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { knownResource } from "../../../api/resources.ts";
import { requesterTo, stub } from "../loopback.ts";

const resource = knownResource("v1", "ConfigMap");
const signal = AbortSignal.timeout(600_000);
const metadata = { name: "a", namespace: "default", uid: "uid", resourceVersion: "7" };
const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } };

/** How often a gate hears of a server that sends these events on a watch and ends it. */
async function heardOf(...events: readonly object[]): Promise<number> {
  const body = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const gate = new Gate(requesterTo(await stub(() => ({ body }))), systemClock);
  const watch = createKubeClient(gate).watch({ resource }, { resourceVersion: "1" }, signal);
  expect(await Array.fromAsync(watch)).toHaveLength(events.length);
  return gate.heard;
}

test("a server is heard by what happens on it", async () => {
  const added = { type: "ADDED", object: { metadata } };
  const deleted = { type: "DELETED", object: { metadata } };
  expect(await heardOf(added, bookmark, deleted)).toBe(2);
});

test("a server is not heard by bookmarks, nor by a watch that it opens: its storage may be stuck", async () => {
  expect(await heardOf(bookmark, bookmark, bookmark)).toBe(0);
});

test("a server is heard by the answer to a request", async () => {
  const gate = new Gate(requesterTo(await stub(() => ({ body: "{}" }))), systemClock);
  await createKubeClient(gate).request("GET", "/version", undefined, signal);
  expect(gate.heard).toBe(1);
});
