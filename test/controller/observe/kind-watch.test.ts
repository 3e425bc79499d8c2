import { expect, onTestFinished, test } from "vitest";

import { ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { KindWatch } from "../../../controller/observe/kind-watch.ts";
import { SharedWatches } from "../../../controller/target/shared-watches.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";
import { apiError, componentUid, ScriptedWatches } from "./scripted-watches.ts";

const resource = knownResource("v1", "ConfigMap");
const broken = apiError(500, "conversion webhook failed");
const unserved = apiError(404, "404 page not found");
const forbidden = apiError(403, "configmaps is forbidden: User x cannot list");
const cut = new ConnectionError("refused", "https://spoke.example refused");

function configMap(name: string): KubeObject {
  const metadata = { namespace: "ns", name, uid: name, resourceVersion: "7" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

/** A watch of ConfigMaps on a scripted server, in virtual time. */
async function begun() {
  const clock = new FakeClock();
  const server = new ScriptedWatches();
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(what);
  const watches = new SharedWatches(clock, server, "knfleet-hub");
  const watch = new KindWatch(
    { watches, resource, componentUid },
    {
      onObject: tell("object"),
      onGone: tell("gone"),
      onListed: tell("listed"),
      onVanished: tell("vanished"),
      onVisibilityChange: tell("visibility"),
      onError: tell("error"),
      onBug: tell("bug"),
    },
  );
  onTestFinished(() => watch[Symbol.dispose]());
  /** The open watch of the server ends so. The next one is not open yet. */
  const fails = async (error: Error | "end"): Promise<void> => {
    server.send("ConfigMap", error);
    for (let turn = 0; turn < 20; turn += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one turn after the other
      await settled();
    }
  };
  /** Lets the pause between two tries pass. */
  const opened = async (): Promise<void> => {
    while (!server.isOpen("ConfigMap")) {
      // oxlint-disable-next-line no-await-in-loop -- a little later each time
      await clock.advance(100);
    }
  };
  const lists = async (objects: readonly KubeObject[], version: string): Promise<void> => {
    await opened();
    server.listed("ConfigMap", objects, version);
    await clock.advance(0);
  };
  const failsAgain = async (error: Error): Promise<void> => {
    await opened();
    await fails(error);
  };
  const countOf = (what: string): number => told.filter((one) => one === what).length;
  await clock.advance(0);
  return { clock, server, told, countOf, watch, fails, opened, failsAgain, lists };
}

/** Whether nobody waits any more, and how that ended. */
async function verdictOf({ settled: verdict }: KindWatch): Promise<unknown> {
  const waiting = settled().then(() => "waiting");
  return Promise.race([verdict.then(() => "settled").catch((error: unknown) => error), waiting]);
}

test("a list is behind from two seconds after its watch broke until it is there", async () => {
  const { clock, told, countOf, watch, fails, lists } = await begun();
  await clock.advance(5_000);
  expect([watch.isBehind, watch.isLive, watch.wasListed]).toEqual([false, false, false]);
  await lists([configMap("a")], "10");
  expect([watch.isBehind, watch.isLive, watch.wasListed]).toEqual([false, true, true]);
  told.length = 0;
  await fails("end");
  expect([watch.isBehind, watch.isLive]).toEqual([false, false]);
  await clock.advance(1_999);
  expect([watch.isBehind, told]).toEqual([false, []]);
  await clock.advance(1);
  expect([watch.isBehind, told]).toEqual([true, ["visibility"]]);
  expect(await verdictOf(watch)).toBe("waiting");
  await lists([configMap("a")], "11");
  expect([watch.isBehind, watch.isLive]).toEqual([false, true]);
  expect(countOf("visibility")).toBe(2);
  expect(await verdictOf(watch)).toBe("settled");
});

test("a list that may not be read is refused, and not behind", async () => {
  const { clock, watch, fails, lists } = await begun();
  await lists([], "10");
  await fails("end");
  await clock.advance(2_000);
  expect(watch.isBehind).toBe(true);
  if (watch.isBehind) await fails(forbidden);
  expect(watch.isBehind).toBe(false);
  expect(watch.refusal).toBe("Watching configmaps is not allowed");
  expect(await verdictOf(watch)).toBe("settled");
});

test("a kind is given up with its second failure in a row", async () => {
  const { watch, fails, failsAgain, lists } = await begun();
  await fails(broken);
  watch.giveUp(broken);
  expect(watch.refusal).toBeUndefined();
  expect(await verdictOf(watch)).toBe("waiting");
  await failsAgain(broken);
  watch.giveUp(broken);
  expect(watch.refusal).toContain("answers with status 500");
  expect(await verdictOf(watch)).toBe("settled");
  // Once it was refused, the newest failure is named.
  watch.retryIfFailing();
  expect(await verdictOf(watch)).toBe("waiting");
  watch.giveUp(apiError(503, "unavailable"));
  expect(watch.refusal).toContain("answers with status 503");
  await lists([], "10");
  expect(watch.refusal).toBeUndefined();
});

test("a kind that was given up is told of once it can be listed again, and what went", async () => {
  const { clock, server, countOf, watch, fails, failsAgain, lists } = await begun();
  await lists([configMap("a")], "10");
  await fails(broken);
  await failsAgain(broken);
  watch.giveUp(broken);
  expect([countOf("error"), watch.refusal === undefined]).toEqual([2, false]);
  watch.retryIfFailing();
  await clock.advance(0);
  await lists([configMap("a")], "11");
  expect(countOf("visibility")).toBe(1);
  server.send("ConfigMap", { type: "DELETED", object: configMap("a") });
  await clock.advance(0);
  expect(countOf("gone")).toBe(1);
});

test("a first list that somebody went on without is told of when it is there, and later ones are not", async () => {
  const { countOf, watch, fails, lists } = await begun();
  await fails(broken);
  await lists([], "10");
  expect(countOf("visibility")).toBe(1);
  await fails("end");
  await lists([], "11");
  expect([countOf("listed"), countOf("visibility"), watch.isLive]).toEqual([2, 1, true]);
});

test("a first list that may not be read is awaited by nobody, and told of once it is there", async () => {
  const { clock, countOf, watch, fails, opened, lists } = await begun();
  await fails(forbidden);
  await opened();
  await clock.advance(5_000);
  expect([countOf("visibility"), await verdictOf(watch)]).toEqual([0, "settled"]);
  await lists([], "10");
  expect(countOf("visibility")).toBe(1);
});

test("a list that comes after a lasting failure is told of", async () => {
  const { clock, countOf, watch, fails, failsAgain, lists } = await begun();
  await lists([], "10");
  await fails(cut);
  await failsAgain(cut);
  expect(await verdictOf(watch)).toBe(cut);
  watch.retryIfFailing();
  await clock.advance(0);
  await lists([], "11");
  expect([countOf("visibility"), await verdictOf(watch)]).toEqual([1, "settled"]);
});

test.each([
  { name: "an answer below 500", error: apiError(499, "closed") },
  { name: "a broken connection", error: cut },
])("$name gives no kind up", async ({ error }) => {
  const { watch, fails, failsAgain } = await begun();
  await fails(error);
  await failsAgain(error);
  watch.giveUp(error);
  expect(watch.refusal).toBeUndefined();
});

test("who asks again begins a new row of failures, and does not wait for the pause", async () => {
  const { clock, server, watch, fails, lists } = await begun();
  const first = watch.settled;
  await fails(broken);
  watch.retryIfFailing();
  await clock.advance(0);
  expect(server.isOpen("ConfigMap")).toBe(true);
  await fails(broken);
  watch.giveUp(broken);
  expect(watch.refusal).toBeUndefined();
  await lists([], "10");
  // Also for who has waited since before.
  await expect(first).resolves.toBeUndefined();
});

test("who asks again leaves a watch alone that works", async () => {
  const { clock, server, watch, lists } = await begun();
  await lists([], "10");
  watch.retryIfFailing();
  await clock.advance(0);
  expect(server.opened("ConfigMap")).toHaveLength(1);
  expect(await verdictOf(watch)).toBe("settled");
});

test("one broken connection fails nobody, two in a row do, and a list or an event between them ends the row", async () => {
  const { clock, server, countOf, watch, fails, opened, failsAgain, lists } = await begun();
  await fails(cut);
  await lists([], "10");
  await fails(cut);
  expect([watch.isLive, await verdictOf(watch)]).toEqual([false, "waiting"]);
  await opened();
  server.send("ConfigMap", { type: "ADDED", object: configMap("a") });
  await clock.advance(0);
  expect(countOf("object")).toBe(1);
  await fails(cut);
  expect(await verdictOf(watch)).toBe("waiting");
  await failsAgain(cut);
  expect(await verdictOf(watch)).toBe(cut);
});

test("something else in the place of the server fails everybody at once", async () => {
  const { watch, fails } = await begun();
  const error = new ConnectionError("standIn", "https://spoke.example answered 404");
  await fails(error);
  expect(await verdictOf(watch)).toBe(error);
});

test("a kind that was never served is asked for again at once by who looks", async () => {
  const { clock, server, countOf, watch, fails, lists } = await begun();
  await fails(unserved);
  expect([watch.isLive, watch.wasListed, await verdictOf(watch)]).toEqual([true, false, "settled"]);
  watch.retryIfFailing();
  await clock.advance(0);
  expect(server.isOpen("ConfigMap")).toBe(true);
  await lists([], "10");
  expect([countOf("vanished"), countOf("visibility")]).toEqual([0, 0]);
});

test("a kind that is not served any more has no objects and is not waited for, until it is back", async () => {
  const { countOf, watch, fails, failsAgain, lists } = await begun();
  await lists([configMap("a")], "10");
  await fails(unserved);
  expect(countOf("vanished")).toBe(1);
  expect([...watch.objects()]).toEqual([]);
  expect([watch.isLive, watch.isBehind, await verdictOf(watch)]).toEqual([true, false, "settled"]);
  // What serves it comes back, but does not work yet.
  await failsAgain(broken);
  watch.giveUp(broken);
  expect(watch.refusal).toBeUndefined();
  await failsAgain(broken);
  watch.giveUp(broken);
  expect(watch.refusal).toContain("answers with status 500");
  await lists([configMap("b")], "20");
  expect([watch.isLive, watch.refusal]).toEqual([true, undefined]);
  expect([...watch.objects()].map(({ metadata }) => metadata.key.name)).toEqual(["b"]);
  expect([countOf("vanished"), countOf("object")]).toEqual([1, 2]);
});

test("a kind has one answer at a time: it is refused, or it is not served", async () => {
  const { clock, watch, fails, failsAgain, lists, countOf } = await begun();
  await fails(forbidden);
  await failsAgain(unserved);
  expect([watch.isLive, watch.refusal, countOf("vanished")]).toEqual([true, undefined, 0]);
  await failsAgain(forbidden);
  expect([watch.isLive, watch.refusal]).toEqual([false, "Watching configmaps is not allowed"]);
  await clock.advance(5_000);
  expect(countOf("visibility")).toBe(0);
  await lists([configMap("a")], "10");
  expect([watch.isLive, watch.refusal, countOf("visibility")]).toEqual([true, undefined, 1]);
});

test("a refusal of a kind that was listed is told of when its list is overdue", async () => {
  const { clock, countOf, watch, fails, failsAgain, lists } = await begun();
  await lists([configMap("a")], "10");
  await fails("end");
  await failsAgain(forbidden);
  expect([countOf("visibility"), watch.refusal === undefined]).toEqual([0, false]);
  await clock.advance(2_000);
  expect([countOf("visibility"), watch.isBehind, watch.refusal === undefined]).toEqual([
    1,
    false,
    false,
  ]);
  await failsAgain(unserved);
  expect([countOf("vanished"), [...watch.objects()]]).toEqual([1, []]);
});
