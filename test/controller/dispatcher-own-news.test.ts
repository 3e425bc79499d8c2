import { expect, test } from "vitest";

import type { KubeClient } from "../../access/kube/kube-client.ts";
import { type Component, componentKinds } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { serving } from "../support/component.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { hubWithNone, hubWithOne, kind, name, workOf } from "./dispatched-hub.ts";

/** A hub with one component that was installed, and whose cluster nobody knows any more: each attempt asks for it once. */
function hubWithLost() {
  const memory = new MemoryHub();
  const patch: KubeClient["patch"] = async (...args) => {
    const before = hub.stored();
    const answer = await memory.patch(...args);
    // The watch is sooner than the end of the attempt.
    hub.dispatcher.componentChanged(hub.stored(), before);
    return answer;
  };
  const hub = hubWithNone({ memory, patch });
  let attempts = 0;
  const acquire = (): Promise<never> => {
    attempts += 1;
    return Promise.reject(new FleetError("ClusterProfileNotFound", "There is none"));
  };
  const spokes = { ...hub.deps.spokes, acquire };
  const begin = (): void => {
    hub.dispatcher.start(workOf({ ...hub.deps, spokes }));
    const clusterProfileRef = { namespace: "knative-serving", name: "c" };
    memory.edit(
      kind,
      name,
      serving({ spec: { clusterProfileRef }, status: { version: "1.23.0" } }),
    );
    hub.dispatcher.componentChanged(hub.stored(), undefined);
  };
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      await hub.clock.advance(0);
      for (const { taken } of hub.told) taken();
    }
    await hub.clock.advance(0);
  };
  return { ...hub, attempts: () => attempts, begin, settle };
}

test("our own finalizer asks for no other look, and one that is taken away does", async () => {
  const { memory, dispatcher, stored, attempts, begin, settle } = hubWithLost();
  await using _dispatcher = dispatcher;
  begin();
  await settle();
  const { finalizer } = componentKinds.KnativeServing;
  expect(stored().metadata["finalizers"]).toEqual([finalizer]);
  expect(attempts()).toBe(1);
  const held = stored();
  memory.edit(kind, name, { metadata: { ...held.metadata, finalizers: [] } });
  dispatcher.componentChanged(stored(), held);
  await settle();
  expect(stored().metadata["finalizers"]).toEqual([finalizer]);
  expect(attempts()).toBe(2);
});

test("a watch of the hub that lags tells nothing new of what was written since", async () => {
  const { dispatcher, stored, attempts, begin, settle } = hubWithLost();
  await using _dispatcher = dispatcher;
  begin();
  const first = stored();
  await settle();
  const onTheWay = { ...first, status: { conditions: [] } };
  dispatcher.componentChanged(onTheWay, { ...first, status: {} });
  await settle();
  expect(attempts()).toBe(1);
  dispatcher.componentChanged(stored(), onTheWay);
  await settle();
  expect(attempts()).toBe(1);
});

function said({ status }: Component) {
  return status?.conditions?.map(({ type, status: is, reason }) => ({ type, is, reason }));
}

test("a status that somebody else wiped is written again", async () => {
  const { memory, clock, told, dispatcher, stored, deps } = hubWithOne();
  await using _dispatcher = dispatcher;
  const settle = async (): Promise<void> => {
    await clock.advance(0);
    for (const { taken } of told) taken();
    await clock.advance(1_000);
  };
  dispatcher.start(workOf(deps));
  dispatcher.componentChanged(stored(), undefined);
  await settle();
  const written = stored();
  expect(written.status?.conditions).toBeDefined();
  memory.edit(kind, name, { ...written, status: {} });
  dispatcher.componentChanged(stored(), written);
  await settle();
  expect(said(stored())).toEqual(said(written));
});
