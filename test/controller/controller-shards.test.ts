import { expect, test } from "vitest";

import { abortable } from "../../access/time/deadline.ts";
import { type ClusterProfileRef, type Component, componentKinds } from "../../api/component.ts";
import { shardOf } from "../../api/shards.ts";
import { serving } from "../support/component.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { hubWithNone, kind, name, workOf } from "./dispatched-hub.ts";

const shards = 4;
const clusterProfileRef = { namespace: "knative-serving", name: "c" };
const mine = shardOf("knative-serving/c", shards);
const other = (mine + 1) % shards;

/** A dispatcher of a hub with one component, whose cluster does not answer, and the attempts to reach it. */
function sharedHub(component: Component) {
  const memory = new MemoryHub();
  const hub = hubWithNone({ memory, shards, patch: (...args) => memory.patch(...args) });
  const attempts: AbortSignal[] = [];
  const acquire = (_ref: ClusterProfileRef, signal: AbortSignal): Promise<never> => {
    attempts.push(signal);
    return abortable(new Promise<never>(() => undefined), signal);
  };
  const spokes = { acquire, state: () => undefined };
  memory.edit(kind, name, component);
  const events = { record: () => Promise.resolve(), audit: () => Promise.resolve() };
  hub.dispatcher.start(workOf({ ...hub.deps, spokes, events }));
  hub.dispatcher.componentChanged(hub.stored(), undefined);
  return { ...hub, attempts };
}

/** A component that is being removed from its cluster: its attempt goes to the cluster at once. */
function leaving(): Component {
  const { finalizer } = componentKinds.KnativeServing;
  const metadata = { deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: [finalizer] };
  return serving({ metadata, spec: { clusterProfileRef } });
}

test("a component of a shard that is not served gets no attempt and no write", async () => {
  const { memory, clock, dispatcher, attempts } = sharedHub(
    serving({ spec: { clusterProfileRef } }),
  );
  await using _dispatcher = dispatcher;
  dispatcher.serve(other);
  await clock.advance(60_000);
  expect(attempts).toEqual([]);
  expect(memory.requests).toBe(0);
});

test("a component gets its attempt when its shard is served", async () => {
  const { clock, dispatcher, attempts } = sharedHub(leaving());
  await using _dispatcher = dispatcher;
  await clock.advance(10_000);
  expect(attempts).toEqual([]);
  dispatcher.serve(mine);
  await clock.advance(0);
  expect(attempts).toHaveLength(1);
});

test("attempts of a shard end before it is left, and none begins after that", async () => {
  const { memory, clock, dispatcher, stored, attempts } = sharedHub(leaving());
  await using _dispatcher = dispatcher;
  dispatcher.serve(mine);
  await clock.advance(0);
  expect(attempts.map(({ aborted }) => aborted)).toEqual([false]);
  const left = dispatcher.leave(mine);
  expect(dispatcher.serves(stored())).toBe(false);
  await clock.advance(0);
  await left;
  expect(attempts.map(({ aborted }) => aborted)).toEqual([true]);
  const { requests } = memory;
  dispatcher.spokeChanged(clusterProfileRef);
  dispatcher.componentChanged(stored(), undefined);
  await clock.advance(600_000);
  expect(attempts).toHaveLength(1);
  expect(memory.requests).toBe(requests);
});

test("a shard that is left and served again begins anew", async () => {
  const { clock, dispatcher, attempts } = sharedHub(leaving());
  await using _dispatcher = dispatcher;
  dispatcher.serve(mine);
  await clock.advance(0);
  const left = dispatcher.leave(mine);
  await clock.advance(0);
  await left;
  dispatcher.serve(mine);
  await clock.advance(0);
  expect(attempts.map(({ aborted }) => aborted)).toEqual([true, false]);
});
