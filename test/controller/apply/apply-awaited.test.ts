import { expect, test } from "vitest";

import { PendingChanges } from "../../../controller/queue/pending-changes.ts";
import { busy, configs, namesOf, start } from "./apply-run.ts";
import { definitionOf, manifestOf, preparedOf } from "./prepared.ts";
import { Server } from "./scripted-server.ts";

test("what a server refuses for now is parked soon when a repair or a new specification waits for the end", async () => {
  const server = new Server();
  for (const name of ["a", "c", "d"]) server.answer(name, busy);
  const pendingChanges = new PendingChanges();
  pendingChanges.noteComponentChange();
  const { result, clock } = start(configs("a", "b", "c", "d"), server, { pendingChanges });
  await clock.advance(2_000);
  expect(clock.pending).toBe(0);
  const { applied, parked } = namesOf(await result);
  expect([applied, parked.toSorted()]).toEqual([["b"], ["a", "c", "d"]]);
});

test("what a server refuses for now is not parked for a change of what is still to be sent, nor for what its own write made", async () => {
  const server = new Server();
  for (const name of ["a", "c"]) server.answer(name, busy);
  const pendingChanges = new PendingChanges();
  const objects = preparedOf(configs("a", "b", "c"));
  const idOf = (name: string) => objects.find(({ key }) => key.name === name)?.id ?? "";
  server.hold("b");
  const { result, clock } = start(configs("a", "b", "c"), server, { pendingChanges });
  await clock.advance(100);
  // The watch is sooner than the answer.
  for (const name of ["a", "b"]) pendingChanges.noteObjectChange(idOf(name));
  await server.release("b");
  await clock.advance(100_000);
  expect(server.sent.filter((name) => name === "a").length).toBeGreaterThan(100);
  pendingChanges.noteObjectChange(idOf("b"));
  await clock.advance(2_000);
  expect(clock.pending).toBe(0);
  const { applied, parked } = namesOf(await result);
  expect([applied, parked.toSorted()]).toEqual([["b"], ["a", "c"]]);
});

test("what a server refuses for now is parked soon also where the server asked for a long pause, which is kept", async () => {
  const server = new Server();
  server.answer("a", { status: 429, retryAfterMs: 50_000 });
  const pendingChanges = new PendingChanges();
  const { result, clock } = start(configs("a", "b"), server, { pendingChanges });
  await clock.advance(10_000);
  pendingChanges.noteComponentChange();
  await clock.advance(2_000);
  expect(clock.pending).toBe(0);
  expect(namesOf(await result)).toEqual({ applied: ["b"], parked: ["a"], failed: [] });
  expect(server.sent).toEqual(["a", "b"]);
});

test("a kind that is not served yet is asked about every ten seconds at least, however long the rest took", async () => {
  const server = new Server();
  const custom = manifestOf("test.dev/v1 Thing knative/one");
  server.answer("one", { status: 404, isStatus: false });
  const { result, clock } = start([custom, definitionOf("Thing")], server);
  const tries = () => server.sent.filter((name) => name === "one").length;
  await clock.advance(50_000);
  const before = tries();
  await clock.advance(60_000);
  expect(tries() - before).toBeGreaterThanOrEqual(5);
  await clock.advance(30_000);
  expect(namesOf(await result).parked).toEqual(["one"]);
});
