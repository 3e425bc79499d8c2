import { describe, expect, test } from "vitest";

import { ConnectionError } from "../../../access/kube/api-error.ts";
import type { Progress } from "../../../controller/apply/change-set.ts";
import { settled } from "../../support/fake-clock.ts";
import { busy, configs, namesOf, start } from "./apply-run.ts";
import { definitionOf, manifestOf } from "./prepared.ts";
import { type Answer, Server } from "./scripted-server.ts";

describe("an apply", () => {
  test("of nothing sends nothing", async () => {
    const server = new Server();
    expect(namesOf(await start([], server).result)).toEqual({
      applied: [],
      parked: [],
      failed: [],
    });
  });

  test("sends each object once, 64 at a time", async () => {
    const server = new Server();
    const names = Array.from({ length: 150 }, (_, index) => `c${index}`);
    const { result } = start(configs(...names), server);
    expect((await result).applied).toHaveLength(150);
    expect(server.sent).toEqual(names);
    expect(server.mostRunning).toBe(64);
  });

  test("opens gates as answers come, and lets nobody else wait for them", async () => {
    const server = new Server();
    const webhook = manifestOf("admissionregistration.k8s.io/v1 MutatingWebhookConfiguration w");
    const custom = manifestOf("test.dev/v1 Thing knative/one");
    server.hold("things.test.dev", "one");
    const set = [webhook, custom, ...configs("c"), definitionOf("Thing")];
    const { result } = start(set, server);
    await settled();
    expect(server.sent).toEqual(["things.test.dev", "c", "w"]);
    await server.release("things.test.dev");
    expect(server.sent).toEqual(["things.test.dev", "c", "w", "one"]);
    await server.release("one");
    expect(namesOf(await result).applied).toEqual(["c", "w", "things.test.dev", "one"]);
  });

  test.each<{ end: "applied" | "parked"; answer: Answer }>([
    { end: "applied", answer: "taken" },
    { end: "parked", answer: { status: 404, isStatus: false } },
  ])("opens the gates of what it gives up, and waits for no kind: $end", async (one) => {
    const server = Object.assign(new Server(), { clearable: 0 });
    server.answer("things.test.dev", { status: 422 });
    server.answer("one", one.answer);
    const custom = manifestOf("test.dev/v1 Thing knative/one");
    const { result } = start([custom, definitionOf("Thing")], server);
    const { failed, ...ends } = namesOf(await result);
    expect([failed, ends[one.end]]).toEqual([["things.test.dev"], ["one"]]);
  });

  test("goes on with the others when an object is refused for good or parked", async () => {
    const server = new Server();
    server.answer("bad", { status: 400 });
    server.answer("blocked", { message: 'failed calling webhook "a.b"' });
    const deployment = manifestOf("apps/v1 Deployment knative/d");
    const { result } = start([...configs("bad", "blocked"), deployment], server);
    expect(namesOf(await result)).toEqual({ applied: ["d"], parked: ["blocked"], failed: ["bad"] });
    expect(server.sent).toHaveLength(3);
  });

  test("parks what is being deleted, because the write is lost", async () => {
    const server = new Server();
    server.answer("leaving", "going");
    expect(namesOf(await start(configs("leaving"), server).result).parked).toEqual(["leaving"]);
  });

  test("reports progress at the beginning and with each object that is done", async () => {
    const progress: number[] = [];
    const { result } = start(configs("a", "b"), new Server(), {
      onProgress: ({ done, total }) => progress.push(done, total),
    });
    await result;
    expect(progress).toEqual([0, 2, 1, 2, 2, 2]);
  });

  test("reports what is held up and by what, and what is refused, apart from what is done", async () => {
    const server = new Server();
    server.answer("bad", { status: 400 });
    for (const name of ["b1", "b2"])
      server.answer(name, { message: 'failed calling webhook "a.b"' });
    server.answer("slow", busy, "taken");
    const progress: Progress[] = [];
    const { result, clock } = start(configs("bad", "b1", "b2", "slow"), server, {
      onProgress: (one) => progress.push(one),
    });
    await clock.advance(10);
    const webhook = { message: "Waiting for webhook a.b", count: 2 };
    expect(progress.at(-1)).toEqual({
      done: 0,
      total: 4,
      waiting: [webhook, { message: "The API server answers with status 503", count: 1 }],
      failed: 1,
    });
    await clock.advance(100);
    await result;
    expect(progress.at(-1)).toEqual({ done: 1, total: 4, waiting: [webhook], failed: 1 });
  });
});

describe("a temporary refusal", () => {
  test("is tried again after 50 ms, doubling to 400 ms", async () => {
    const server = new Server();
    server.answer("a", busy, busy, busy, busy, busy, "taken");
    const { result, clock } = start(configs("a"), server);
    const times: number[] = [];
    for (let count = 1; count < 6;) {
      await clock.advance(10);
      if (server.sent.length > count) times.push(clock.now());
      count = server.sent.length;
    }
    expect(times).toEqual([50, 150, 350, 750, 1_150]);
    expect(namesOf(await result).applied).toEqual(["a"]);
  });

  // As it says, but an hour is too long and no time too short.
  test.each([2_000, 3_600_000, 0])("waits as the server says: %i ms", async (retryAfterMs) => {
    const server = new Server();
    server.answer("a", { status: 429, retryAfterMs }, "taken");
    const { result, clock } = start(configs("a"), server);
    await clock.advance(Math.min(60_000, Math.max(50, retryAfterMs)) - 10);
    expect(server.sent).toHaveLength(1);
    await clock.advance(10);
    expect(namesOf(await result).applied).toEqual(["a"]);
  });

  test("of a kind that is not served yet is asked about at the pace of the server", async () => {
    const server = new Server();
    server.answer("one", { status: 404, isStatus: false }, "taken");
    server.hold("things.test.dev");
    const custom = manifestOf("test.dev/v1 Thing knative/one");
    const { result, clock } = start([custom, definitionOf("Thing")], server);
    await clock.advance(1_000);
    await server.release("things.test.dev");
    await clock.advance(490);
    expect(server.sent).toEqual(["things.test.dev", "one"]);
    await clock.advance(10);
    expect(namesOf(await result).applied).toEqual(["things.test.dev", "one"]);
  });

  test("holds no place and nobody else", async () => {
    const server = new Server();
    const names = Array.from({ length: 64 }, (_, index) => `busy${index}`);
    for (const name of names) server.answer(name, busy, "taken");
    const { result, clock } = start(configs(...names, "free"), server);
    await settled();
    expect(server.sent).toHaveLength(65);
    await clock.advance(50);
    expect((await result).applied[0]?.name).toBe("free");
  });

  test("is parked when nothing was accepted for two minutes", async () => {
    const server = new Server();
    server.answer("a", busy);
    const { result, clock } = start(configs("a", "b"), server);
    await clock.advance(119_000);
    expect(server.sent.length).toBeGreaterThan(200);
    await clock.advance(2_000);
    expect(namesOf(await result)).toEqual({ applied: ["b"], parked: ["a"], failed: [] });
  });

  test("is parked together with others, because what was given up is no progress", async () => {
    const server = new Server();
    server.answer("a", busy);
    server.answer("b", busy);
    server.answer("late", ...Array.from({ length: 200 }, () => busy), { status: 400 });
    const { result, clock } = start(configs("a", "b", "late"), server);
    await clock.advance(121_000);
    expect(clock.pending).toBe(0);
    const ends = namesOf(await result);
    expect(ends.parked.toSorted()).toEqual(["a", "b"]);
    expect(ends.failed).toEqual(["late"]);
  });

  test("of a binding is parked at once when its role was given up", async () => {
    const server = Object.assign(new Server(), { clearable: 0 });
    const group = "rbac.authorization.k8s.io/v1";
    const bound = (kind: string, name: string) =>
      manifestOf(`${group} RoleBinding knative/of-${name}`, { roleRef: { kind, name } });
    for (const name of ["own", "wide"]) server.answer(name, { status: 403 });
    for (const name of ["of-own", "of-wide", "of-foreign"]) server.answer(name, { status: 404 });
    const roles = [
      manifestOf(`${group} Role knative/own`),
      manifestOf(`${group} ClusterRole wide`),
    ];
    const bindings = [bound("Role", "own"), bound("ClusterRole", "wide"), bound("Role", "foreign")];
    server.hold("own");
    const { result, clock } = start([...bindings, ...roles, ...configs("c")], server);
    const tries = (wanted: string) => server.sent.filter((name) => name === wanted).length;
    await clock.advance(1_000);
    expect([tries("of-own"), tries("of-wide")]).toEqual([tries("of-foreign"), 2]);
    await server.release("own");
    await clock.advance(1_000);
    expect(tries("of-own")).toBeLessThan(tries("of-foreign"));
    await clock.advance(120_000);
    expect(await result).toMatchObject({
      parked: [
        { key: { name: "of-wide" }, message: "Waiting for its role" },
        { key: { name: "of-own" }, message: "Waiting for its role" },
        { key: { name: "of-foreign" }, message: "The API server answers with status 404" },
      ],
      failed: [{ key: { name: "wide" } }, { key: { name: "own" } }],
    });
  });
});

describe("an object that the server finds invalid", () => {
  const role = manifestOf("rbac.authorization.k8s.io/v1 RoleBinding knative/migrate");
  const invalid = { status: 422, causes: [{ field: "roleRef" }] };

  test("is sent again when what stood in its way is cleared", async () => {
    const server = new Server();
    server.answer("migrate", invalid, "taken");
    const { result, clock } = start([role], server);
    await clock.advance(50);
    expect(namesOf(await result).applied).toEqual(["migrate"]);
    expect(server.cleared).toEqual(["migrate"]);
  });

  test("fails when nothing can be done, and holds nobody else", async () => {
    const server = new Server();
    server.answer("migrate", invalid);
    server.clearable = 0;
    const { result } = start([role, ...configs("a")], server);
    expect(namesOf(await result)).toEqual({ applied: ["a"], parked: [], failed: ["migrate"] });
    expect(server.sent).toHaveLength(2);
  });

  test("fails when clearing does not help", async () => {
    const server = new Server();
    server.answer("migrate", invalid);
    server.clearable = 1_000;
    const { result, clock } = start([role], server);
    await clock.advance(10_000);
    expect(namesOf(await result).failed).toEqual(["migrate"]);
    expect(server.cleared).toHaveLength(3);
  });
});

describe("an apply ends at once, with no request left,", () => {
  test.each([
    {
      name: "when the connection fails",
      answer: new ConnectionError("reset", "gone"),
      error: { name: "ConnectionError" },
    },
    {
      name: "when its namespace is deleted",
      answer: { status: 403, message: "because it is being terminated" },
      error: { reason: "ClusterBusy" },
    },
    {
      name: "when something is wrong with the program",
      answer: new TypeError("bug"),
      error: { name: "TypeError" },
    },
  ])("$name", async ({ answer, error }) => {
    const server = new Server();
    server.hold("slow");
    server.answer("a", answer);
    server.answer("later", busy);
    const { result, clock } = start(configs("slow", "later", "a"), server);
    await expect(result).rejects.toMatchObject(error);
    expect(server.running).toBe(0);
    expect(clock.pending).toBe(0);
  });

  test("when it is told to", async () => {
    const server = new Server();
    server.hold("slow");
    const { result, stop } = start(configs("slow", "a"), server);
    await settled();
    const reason = new Error("stop");
    stop.abort(reason);
    await expect(result).rejects.toBe(reason);
    expect(server.running).toBe(0);
  });
});
