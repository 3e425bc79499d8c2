import { expect, test } from "vitest";

import { apiError, guardOver, minute, recheck } from "./guard-over.ts";

test("a proof that cannot be repeated is told, until it can", async () => {
  let refuses = false;
  const { clock, guard, said, protect } = guardOver({
    changed: (client) => ({
      request: (...args) =>
        refuses && args[1].includes("dryRun")
          ? Promise.reject(apiError(403))
          : client.request(...args),
    }),
  });
  protect("a");
  await clock.advance(minute);
  const { message } = guard.protection;
  refuses = true;
  await clock.advance(recheck);
  expect(said).toEqual(["Enforced", "Probing"]);
  expect(guard.protection.message).toMatch(/^The API server refuses the probes of the guard, but/);
  await clock.advance(5 * recheck);
  refuses = false;
  await clock.advance(recheck);
  expect(said).toEqual(["Enforced", "Probing", "Enforced"]);
  expect(guard.protection.message).toBe(message);
});

test("the proof is repeated half a minute after a watch of the policies was interrupted, as by a new start of the API server", async () => {
  let isUp = true;
  let isDeaf = false;
  const cuts: (() => void)[] = [];
  const { clock, said, protect } = guardOver({
    changed: (client, { objects }) => ({
      watch: async function* watch(ref, options, over) {
        for (const object of objects.all(ref.resource.kind)) yield { type: "ADDED", object };
        const { version: resourceVersion } = objects;
        yield { type: "BOOKMARK", resourceVersion, initialEventsEnd: true };
        const cut = Promise.withResolvers<undefined>();
        cuts.push(() => cut.resolve(undefined));
        const events = client.watch(ref, options, over)[Symbol.asyncIterator]();
        for (;;) {
          const next = await Promise.race([events.next(), cut.promise]);
          if (next === undefined) throw apiError(503);
          if (next.done === true) return;
          yield next.value;
        }
      },
      request: (...args) => {
        if (!isUp) return Promise.reject(apiError(503));
        return isDeaf && args[0] === "DELETE" ? Promise.resolve({}) : client.request(...args);
      },
    }),
  });
  protect("a");
  await clock.advance(minute);
  isDeaf = true;
  await clock.advance(minute);
  expect(said).toEqual(["Enforced"]);
  isUp = false;
  for (const cut of cuts) cut();
  // Nobody can say anything while it is away.
  await clock.advance(minute);
  expect(said).toEqual(["Enforced"]);
  isUp = true;
  await clock.advance(minute);
  expect(said.slice(0, 2)).toEqual(["Enforced", "NotEnforced"]);
});

test("a watch that is interrupted while the proof is repeated lets it be repeated once more", async () => {
  const cuts: (() => void)[] = [];
  let during: (() => void) | undefined;
  let proofs = 0;
  const { clock, protect } = guardOver({
    changed: (client, { objects }) => ({
      watch: async function* watch(ref, options, over) {
        for (const object of objects.all(ref.resource.kind)) yield { type: "ADDED", object };
        const { version: resourceVersion } = objects;
        yield { type: "BOOKMARK", resourceVersion, initialEventsEnd: true };
        const cut = Promise.withResolvers<undefined>();
        cuts.push(() => cut.resolve(undefined));
        over.addEventListener("abort", () => cut.resolve(undefined), { once: true });
        await cut.promise;
        over.throwIfAborted();
        throw apiError(503);
      },
      request: async (...args) => {
        if (args[0] !== "DELETE") return client.request(...args);
        proofs += 1;
        during?.();
        during = undefined;
        return client.request(...args);
      },
    }),
  });
  protect("a");
  during = () => {
    for (const cut of cuts) cut();
  };
  const proven = (): boolean => proofs > 0;
  while (!proven()) await clock.advance(1_000);
  await clock.advance(28_000);
  expect(proofs).toBe(1);
  await clock.advance(3_000);
  expect(proofs).toBe(2);
  // The second one had no interruption.
  await clock.advance(5 * minute);
  expect(proofs).toBe(2);
});
