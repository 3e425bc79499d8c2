import * as fc from "fast-check";
import { expect, test, vi } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import { openSpokes, type SpokesOptions } from "../../../access/spokes/open-spokes.ts";
import { PathMetrics } from "../../../access/spokes/path-metrics.ts";
import type { Spokes } from "../../../access/spokes/spokes.ts";
import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { knownResource } from "../../../api/resources.ts";
import { runsOf, seed } from "../../support/fuzz.ts";
import { held, leakedSince } from "../../support/held.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import {
  type Happening,
  names,
  namespace,
  type ProfileFacts,
  SpokesWorld,
} from "./spokes-world.ts";

const signal = AbortSignal.timeout(1_800_000);

const one = fc.constantFrom(0 as const, 1 as const);
const name = fc.constantFrom(...names);
const facts: fc.Arbitrary<ProfileFacts> = fc.record({ ready: fc.boolean(), at: one, ca: one });

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({
    kind: fc.constant("profile" as const),
    name,
    to: fc.oneof({ arbitrary: facts, weight: 3 }, fc.constant("deleted" as const)),
  }),
  fc.record({ kind: fc.constant("recreated" as const), name }),
  fc.record({
    kind: fc.constant("hub" as const),
    does: fc.constantFrom("cut" as const, "compact" as const),
  }),
  fc.record({
    kind: fc.constant("file" as const),
    is: fc.constantFrom(
      "plain" as const,
      "with arguments" as const,
      "that fails" as const,
      "of another provider" as const,
      "invalid" as const,
      "gone" as const,
    ),
    by: fc.constantFrom("write" as const, "swap" as const),
  }),
  fc.record({
    kind: fc.constant("spoke" as const),
    which: one,
    does: fc.constantFrom(
      "stops" as const,
      "starts" as const,
      "starts with another CA" as const,
      "hangs" as const,
      "resets" as const,
      "works" as const,
    ),
  }),
  fc.record({
    kind: fc.constant("token" as const),
    does: fc.constantFrom("revoked" as const, "renewed" as const),
  }),
  fc.record({ kind: fc.constant("pause" as const), ms: fc.constantFrom(0, 30, 300, 1_200) }),
);

/** What a user of the spoke meets who asks for it and sends a request. */
async function met(spokes: Spokes, of: string): Promise<string> {
  try {
    const { client, profile, fingerprint } = await spokes.acquire({ namespace, name: of }, signal);
    await client.request("GET", "/version", undefined, AbortSignal.timeout(2_000));
    return `works ${profile.uid} ${fingerprint}`;
  } catch (error) {
    if (error instanceof FleetError) return `${error.reason} ${error.code ?? ""}`;
    // A connection that broke a moment ago; it is not known yet what is behind it.
    if (error instanceof ConnectionError) return `broke: ${error.failure}`;
    return error instanceof ApiError ? `answered ${error.status}` : String(error);
  }
}

async function metByAll(spokes: Spokes): Promise<readonly string[]> {
  return Promise.all(names.map((of) => met(spokes, of)));
}

async function sameAsFresh(spokes: Spokes, options: SpokesOptions): Promise<void> {
  await using fresh = await openSpokes(options, signal);
  await vi.waitFor(
    async () => {
      const [now, wanted] = await Promise.all([metByAll(spokes), metByAll(fresh)]);
      expect(now).toEqual(wanted);
    },
    { timeout: 60_000, interval: 100 },
  );
}

/** While the hub and the spokes stay: their end would end every connection that was forgotten. */
async function live(happenings: readonly Happening[]): Promise<void> {
  await using world = await SpokesWorld.start();
  const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
  await world.hub.list({ resource }, {}, signal);
  const before = await held();
  await lived(world, happenings);
  expect(await leakedSince(before)).toEqual({});
}

async function lived(world: SpokesWorld, happenings: readonly Happening[]): Promise<void> {
  await using clock = new QuickClock(5);
  const path = new PathMetrics(clock);
  const options = {
    clock,
    hub: world.hub,
    providerFile: world.file,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
  };
  await using spokes = await openSpokes({ ...options, path }, signal);
  // All are connected at first, so that there is something to be replaced.
  await metByAll(spokes);
  for (const each of happenings) {
    await world.take(each);
    // Somebody is always working with them.
    for (const of of names) void met(spokes, of);
  }
  await world.calm();
  const endsInvalid = world.isFileInvalid;
  await world.mendFile();
  await vi.waitFor(() => expect(path.isProviderFileValid()).toBe(true), { timeout: 60_000 });
  await sameAsFresh(spokes, options);
  if (!endsInvalid) return;
  // The same with the last good content, while the file is not usable.
  const before = await metByAll(spokes);
  await world.take({ kind: "file", is: "invalid", by: "write" });
  await vi.waitFor(() => expect(path.isProviderFileValid()).toBe(false), { timeout: 60_000 });
  expect(await metByAll(spokes)).toEqual(before);
}

// More than 2 s: each run starts a hub, two spokes and many plugins; KNFLEET_FUZZ_SHARE says how many runs there are.
test(`whatever happens to profiles, file and spokes, all ends as after a fresh start (KNFLEET_SEED=${seed})`, async () => {
  await fc.assert(fc.asyncProperty(fc.array(happening, { minLength: 4, maxLength: 14 }), live), {
    seed,
    numRuns: runsOf(24),
    endOnFailure: true,
    verbose: true,
  });
}, 1_800_000);
