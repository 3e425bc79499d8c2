import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { expect, onTestFinished, test, vi } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import { ConnectTurns } from "../../../access/spokes/connect-turns.ts";
import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, stub, untilTheEnd } from "../loopback.ts";

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
  const turns = new ConnectTurns(systemClock);
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
  const turns = new ConnectTurns(systemClock, { limit: 4, repeats: 2, holdMs: hourMs });
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
  const turns = new ConnectTurns(systemClock, { limit: 1, repeats: 1, holdMs: 20 });
  const works = new Works();
  const silent = turns.take(works.begin("silent"), false, signal);
  await turns.take(() => Promise.resolve(), false, signal);
  expect(works.started).toEqual(["silent"]);
  works.end("silent");
  await silent;
});

test("who gives up waiting takes no place", async () => {
  const turns = new ConnectTurns(systemClock, { limit: 1, repeats: 1, holdMs: hourMs });
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

/** Profiles of spokes that one server plays, each with a Secret of its own. */
function profilesAt(server: string, count: number): readonly ClusterProfile[] {
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  return numbered(count, "spoke").map((name) => {
    const extension = { clusterName: name };
    const extensions = [{ name: "client.authentication.k8s.io/exec", extension }];
    const cluster = { server, "certificate-authority-data": ca, extensions };
    const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
    return { ...profile, metadata: { ...profile.metadata, name, uid: name } };
  });
}

const builtIn = rawProvider("sr", {}, { command: "builtin:secretreader", env: [] });
const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s", uid: "u", resourceVersion: "1" },
  data: { token: Buffer.from("T").toString("base64") },
};

test("spokes that are asked for at once are connected to a few at a time, and all in the end", async () => {
  let open = 0;
  let most = 0;
  const api = await stub();
  const turns = new ConnectTurns(systemClock, { limit: 3, repeats: 1, holdMs: hourMs });
  const hub = {
    get: async () => {
      open += 1;
      most = Math.max(most, open);
      await delay(20);
      open -= 1;
      return secret;
    },
  };
  const deps = { clock: systemClock, environment: {}, userAgent: "test", hub, turns };
  const keepers = profilesAt(api.server, 12).map((profile) => {
    const outcome = {
      kind: "access",
      access: resolveAccess(profile, fileOf(builtIn), Date.now()),
    } as const;
    return new SpokeKeeper(outcome, deps, () => undefined);
  });
  onTestFinished(async () => void (await Promise.all(keepers.map((one) => one.close(over)))));
  await vi.waitFor(
    () => expect(keepers.map(({ state }) => state.kind)).toEqual(keepers.map(() => "connected")),
    { timeout: 30_000 },
  );
  expect(most).toBe(3);
});

test("a fleet of 50 that is asked for at once is connected to 32 at a time, and all of it in the end", async () => {
  const api = await stub();
  const profiles = profilesAt(api.server, 50);
  const full = Promise.withResolvers<void>();
  let open = 0;
  let most = 0;
  const hub = {
    // Nobody gets a credential before all who may come are there, and a moment later.
    get: async () => {
      open += 1;
      most = Math.max(most, open);
      if (open === 32) void settled().then(full.resolve);
      await full.promise;
      open -= 1;
      return secret;
    },
    list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
    watch: async function* (): AsyncGenerator<WatchEvent> {
      for (const object of profiles) yield { type: "ADDED", object };
      yield { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true };
      await new Promise((done) => signal.addEventListener("abort", done));
    },
  };
  const folder = await mkdtemp(join(tmpdir(), "knfleet-turns-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const providerFile = join(folder, "providers.json");
  await writeFile(providerFile, JSON.stringify({ providers: [builtIn] }));
  const spokes = untilTheEnd(
    await openSpokes(
      { clock: systemClock, hub, providerFile, environment: {}, userAgent: "test" },
      signal,
    ),
  );
  const refs = profiles.map(({ metadata: { namespace, name } }) => ({ namespace, name }));
  const connections = await Promise.all(refs.map((ref) => spokes.acquire(ref, signal)));
  expect(connections.map(({ profile }) => profile.name)).toEqual(refs.map(({ name }) => name));
  expect(most).toBe(32);
});
