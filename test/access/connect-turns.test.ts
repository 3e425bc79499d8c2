import { setTimeout as delay } from "node:timers/promises";

import { expect, onTestFinished, test, vi } from "vitest";

import { ConnectTurns } from "../../access/connect-turns.ts";
import { resolveAccess } from "../../access/resolved-access.ts";
import { SpokeKeeper } from "../../access/spoke-keeper.ts";
import { FleetError } from "../../api/errors.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "./builders.ts";
import { authority, stub } from "./loopback.ts";

const signal = AbortSignal.timeout(600_000);
const hourMs = 3_600_000;
const over = new FleetError("ClusterProviderClosed", "The test is over");

/** Work that goes on until it is told to end. */
class Works {
  started: string[] = [];
  readonly #ends = new Map<string, () => void>();

  begin(name: string): () => Promise<void> {
    return () => {
      this.started.push(name);
      return new Promise((done) => this.#ends.set(name, done));
    };
  }

  end(name: string): void {
    this.#ends.get(name)?.();
  }
}

function ignored(work: Promise<void>): void {
  work.catch(() => undefined);
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((done) => setImmediate(done));
}

function numbered(count: number, name: string): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${name}-${number}`);
}

test("of 100 spokes 32 are connected to at the same time, and the others in the order of their coming", async () => {
  const turns = new ConnectTurns();
  const works = new Works();
  const names = numbered(100, "spoke");
  const all = names.map((name) => turns.take(works.begin(name), false, signal));
  await settled();
  expect(works.started).toEqual(names.slice(0, 32));
  works.end("spoke-7");
  await settled();
  expect(works.started).toEqual(names.slice(0, 33));
  for (const name of names) {
    works.end(name);
    await settled();
  }
  await Promise.all(all);
  expect(works.started).toEqual(names);
});

test("repetitions never take all places: a spoke that is tried for the first time gets one", async () => {
  const turns = new ConnectTurns({ limit: 4, repeats: 2, holdMs: hourMs });
  const works = new Works();
  const stop = new AbortController();
  for (const name of numbered(9, "again")) {
    ignored(turns.take(works.begin(name), true, stop.signal));
  }
  await settled();
  ignored(turns.take(works.begin("new"), false, stop.signal));
  await settled();
  expect(works.started).toEqual(["again-0", "again-1", "new"]);
  stop.abort(new Error("The test is over"));
});

test("an attempt that a silent server keeps waiting gives its place up and goes on", async () => {
  const turns = new ConnectTurns({ limit: 1, repeats: 1, holdMs: 20 });
  const works = new Works();
  const silent = turns.take(works.begin("silent"), false, signal);
  await turns.take(() => Promise.resolve(), false, signal);
  expect(works.started).toEqual(["silent"]);
  works.end("silent");
  await silent;
});

test("who gives up waiting takes no place", async () => {
  const turns = new ConnectTurns({ limit: 1, repeats: 1, holdMs: hourMs });
  const works = new Works();
  const first = turns.take(works.begin("first"), false, signal);
  const stop = new AbortController();
  const waiting = turns.take(works.begin("given up"), true, stop.signal);
  await settled();
  stop.abort(new Error("Given up"));
  await expect(waiting).rejects.toThrow("Given up");
  works.end("first");
  await first;
  await turns.take(() => Promise.resolve(), true, signal);
  expect(works.started).toEqual(["first"]);
});

test("spokes that are asked for at once are connected to a few at a time, and all in the end", async () => {
  let open = 0;
  let most = 0;
  const api = await stub();
  const turns = new ConnectTurns({ limit: 3, repeats: 1, holdMs: hourMs });
  const token = Buffer.from("T").toString("base64");
  const secret = { apiVersion: "v1", kind: "Secret", data: { token } };
  const hub = {
    get: async () => {
      open += 1;
      most = Math.max(most, open);
      await delay(20);
      open -= 1;
      return { ...secret, metadata: { name: "s", uid: "u", resourceVersion: "1" } };
    },
  };
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const extension = { clusterName: "s" };
  const extensions = [{ name: "client.authentication.k8s.io/exec", extension }];
  const cluster = { server: api.server, "certificate-authority-data": ca, extensions };
  const providers = fileOf(rawProvider("sr", {}, { command: "builtin:secretreader", env: [] }));
  const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
  const deps = { environment: {}, userAgent: "test", hub, turns };
  const keepers = numbered(12, "spoke").map((name) => {
    const named = { ...profile, metadata: { ...profile.metadata, name, uid: name } };
    const outlook = { kind: "access", access: resolveAccess(named, providers) } as const;
    return new SpokeKeeper(outlook, deps, () => undefined);
  });
  onTestFinished(async () => void (await Promise.all(keepers.map((one) => one.close(over)))));
  await vi.waitFor(
    () => expect(keepers.map(({ state }) => state.kind)).toEqual(keepers.map(() => "connected")),
    { timeout: 30_000 },
  );
  expect(most).toBe(3);
});
