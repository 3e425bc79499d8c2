import { expect, test } from "vitest";

import { abortable } from "../../../access/time/deadline.ts";
import { objectId } from "../../../api/keys.ts";
import { withoutAnchor, withReadAnchor } from "../../../controller/apply/install-state.ts";
import { EventRecorder } from "../../../controller/events.ts";
import type { Observation } from "../../../controller/observe/observation.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { serving } from "../../support/component.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";
import { bareInstaller } from "../apply/bare-spoke.ts";
import { anchorWith } from "../apply/stored-anchor.ts";
import { observeScripted, ScriptedWatches } from "../observe/scripted-watches.ts";

const life = new AbortController();

function open(): Observation {
  return observeScripted(new ScriptedWatches());
}

test("an installation without an anchor is new, and one whose anchor is lost is not", async () => {
  const { client } = (await bareInstaller(() => undefined)).target;
  await using installation = new Installation("uid");
  expect(installation.wasInstalled).toBe(false);
  const { memory } = await installation.viewOver(client, open);
  memory.become((state) => withReadAnchor(state, undefined));
  expect(installation.wasInstalled).toBe(false);
  memory.become((state) =>
    withReadAnchor(state, anchorWith({ version: "", complete: false, entries: [] })),
  );
  expect(installation.wasInstalled).toBe(true);
  memory.become((state) => withReadAnchor(state, undefined));
  expect([installation.inventory, installation.wasInstalled]).toEqual([undefined, true]);
  // Of its own accord it took back what it had begun.
  memory.become(withoutAnchor);
  expect(installation.wasInstalled).toBe(false);
});

test("the inventory that was last seen stays known after the view is closed", async () => {
  const { client } = (await bareInstaller(() => undefined)).target;
  await using installation = new Installation("uid");
  const { memory } = await installation.viewOver(client, open);
  const inventory = { version: "1.22.0", complete: true, entries: [] };
  memory.become((state) => withReadAnchor(state, anchorWith(inventory)));
  expect(installation.inventory).toMatchObject(inventory);
  await installation.closeView();
  expect(installation.inventory).toMatchObject(inventory);
  expect(installation.wasInstalled).toBe(true);
  // A view that was opened again has not read the anchor yet.
  await installation.viewOver(client, open);
  await installation.closeView();
  expect(installation.inventory).toMatchObject(inventory);
});

test("a request that no attempt waits for any more lasts until the view is closed", async () => {
  const { client } = (await bareInstaller(() => undefined)).target;
  await using installation = new Installation("uid");
  const { jobs } = await installation.viewOver(client, open);
  const until: AbortSignal[] = [];
  const get = async (_ref: unknown, _options: unknown, signal: AbortSignal) => {
    until.push(signal);
    return abortable(new Promise<never>(() => undefined), signal);
  };
  const key = { apiVersion: "batch/v1", kind: "Job", namespace: "eventing", name: "migrate" };
  const facts = { uid: "job", resourceVersion: "1", fingerprint: undefined, deleting: false };
  const observed = new Map([[objectId(key), { key, ...facts, mayHaveFailed: true } as const]]);
  const clock = new FakeClock();
  const asking = { client: { get }, clock, log: silentLog, observed, said: "" };
  const hub = new MemoryHub();
  const events = new EventRecorder({ client: hub, clock, log: silentLog });
  const found = installation.attempt(
    { component: serving(), hub, clock, events },
    (_writer, signal) => jobs.findFailed([key], asking, signal),
    life.signal,
  );
  await clock.advance(3_000);
  expect(await found).toMatchObject({ hasUnsureJobs: true });
  expect(until.map(({ aborted }) => aborted)).toEqual([false]);
  await installation.closeView();
  expect(until.map(({ aborted }) => aborted)).toEqual([true]);
});

test("a closed installation opens no view", async () => {
  const { client } = (await bareInstaller(() => undefined)).target;
  const installation = new Installation("uid");
  await installation.viewOver(client, open);
  const other = (await bareInstaller(() => undefined)).target.client;
  const opened: Observation[] = [];
  const late = installation.viewOver(other, () => {
    opened.push(open());
    return open();
  });
  await installation[Symbol.asyncDispose]();
  await expect(late).rejects.toThrow("The installation was closed");
  await expect(installation.viewOver(client, open)).rejects.toThrow("The installation was closed");
  expect(opened).toEqual([]);
});

test("a change waits only for the end of the attempt during which it comes", async () => {
  await using installation = new Installation("uid");
  const clock = new FakeClock();
  const hub = new MemoryHub();
  const deps = { hub, clock, events: new EventRecorder({ client: hub, clock, log: silentLog }) };
  const attempt = (isChanged: boolean): Promise<boolean | undefined> =>
    installation.attempt(
      { component: serving(), ...deps },
      () => {
        if (isChanged) installation.pendingChanges?.noteComponentChange();
        return Promise.resolve(installation.pendingChanges?.hasOthersThan(new Set()));
      },
      life.signal,
    );
  expect(await attempt(true)).toBe(true);
  expect([installation.pendingChanges, installation.isBusy]).toEqual([undefined, false]);
  expect(await attempt(false)).toBe(false);
  expect(installation.attempts).toBe(2);
});

test("a write that was under way when the hub was restored is not kept", async () => {
  await using installation = new Installation("uid");
  const clock = new FakeClock();
  const hub = new MemoryHub();
  hub.edit("KnativeServing", "knative-serving", serving());
  const deps = { hub, clock, events: new EventRecorder({ client: hub, clock, log: silentLog }) };
  const component = serving();
  await installation.attempt(
    { component, ...deps },
    () => Promise.resolve(installation.noteReleased()),
    life.signal,
  );
  expect([installation.latest, installation.isReleased]).toEqual([component, true]);
  await installation.attempt(
    { component, ...deps },
    () => Promise.resolve(installation.undo()),
    life.signal,
  );
  expect([installation.latest, installation.isReleased]).toEqual([undefined, false]);
});
