import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import type { AccessOutcome } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import { FleetError } from "../../../api/errors.ts";
import { runsOf, seed } from "../../support/fuzz.ts";
import { held, leakedSince } from "../../support/held.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { type ApiStub, startApiStub, type StubAnswer } from "../api-stub.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, serverIdentity } from "../loopback.ts";

const output = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"T1"}}`;

let folder: string;
let command: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-keeper-"));
  command = join(folder, "plugin");
  await writeFile(command, `#!/bin/sh\nsleep 0.05\necho '${output}'\n`);
  await chmod(command, 0o755);
});

afterAll(() => rm(folder, { recursive: true }));

/** What can happen to a spoke: its profile or the provider file changes, the spoke misbehaves, time passes. */
type Happening =
  | {
      readonly kind: "outcome";
      readonly healthy: boolean;
      readonly at: 0 | 1;
      readonly uid: string;
    }
  | { readonly kind: "file"; readonly args: readonly string[] | undefined }
  | { readonly kind: "spoke"; readonly answer: StubAnswer }
  | { readonly kind: "pause"; readonly ms: number };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({
    kind: fc.constant("outcome" as const),
    healthy: fc.boolean(),
    at: fc.constantFrom(0 as const, 1 as const),
    uid: fc.constantFrom("uid-1", "uid-2"),
  }),
  fc.record({
    kind: fc.constant("file" as const),
    args: fc.constantFrom(undefined, [], ["--other"]),
  }),
  fc.record({
    kind: fc.constant("spoke" as const),
    answer: fc.constantFrom<StubAnswer>({}, { reset: true }, { status: 401 }, { status: 500 }),
  }),
  fc.record({ kind: fc.constant("pause" as const), ms: fc.constantFrom(0, 20, 150) }),
);

/** What a hub and two spokes say at the moment. */
class World {
  readonly #stubs: readonly [ApiStub, ApiStub];
  #profile = { healthy: true, at: 0 as 0 | 1, uid: "uid-1" };
  #args: readonly string[] | undefined = [];

  constructor(stubs: readonly [ApiStub, ApiStub]) {
    this.#stubs = stubs;
  }

  take(change: Extract<Happening, { kind: "outcome" | "file" }>): AccessOutcome {
    if (change.kind === "file") this.#args = change.args;
    else this.#profile = change;
    return this.outcome;
  }

  get outcome(): AccessOutcome {
    const { healthy, at, uid } = this.#profile;
    const cluster = {
      server: this.#stubs[at].server,
      "certificate-authority-data": Buffer.from(authority.certificatePem).toString("base64"),
    };
    const type = "ControlPlaneHealthy";
    const conditions = [{ type, status: healthy ? "True" : "False" } as const];
    const profile = profileOf({ conditions, accessProviders: [entryOf("sr", cluster)] });
    const named = { ...profile, metadata: { ...profile.metadata, uid } };
    const args = this.#args;
    const file = args === undefined ? fileOf() : fileOf(rawProvider("sr", {}, { command, args }));
    try {
      return { kind: "access", access: resolveAccess(named, file, Date.now()) };
    } catch (error) {
      if (error instanceof FleetError) return { kind: "error", error };
      throw error;
    }
  }
}

/** What users of the spoke would get. */
function summaryOf({ state }: SpokeKeeper): string {
  if (state.kind === "connecting") return "connecting";
  if (state.kind !== "connected") return `${state.error.reason} ${state.error.message}`;
  const { profile, fingerprint } = state.connection;
  return `connected ${profile.uid} ${fingerprint}`;
}

async function run(happenings: readonly Happening[]): Promise<void> {
  await using clock = new QuickClock(5);
  const deps = { clock, environment: { PATH: "/usr/bin:/bin" }, userAgent: "test" };
  const before = await held();
  let answer: StubAnswer = {};
  const start = (): Promise<ApiStub> =>
    startApiStub({ identity: serverIdentity, answer: () => answer });
  const stubs = [await start(), await start()] as const;
  const world = new World(stubs);
  const keeper = new SpokeKeeper(world.outcome, deps, () => undefined);
  for (const each of happenings) {
    if (each.kind === "spoke") answer = each.answer;
    else if (each.kind === "pause") await delay(each.ms);
    else keeper.update(world.take(each));
  }
  answer = {};
  const fresh = new SpokeKeeper(world.outcome, deps, () => undefined);
  try {
    await vi.waitFor(() => expect(summaryOf(fresh)).not.toBe("connecting"), { timeout: 60_000 });
    await vi.waitFor(() => expect(summaryOf(keeper)).toBe(summaryOf(fresh)), {
      timeout: 60_000,
      interval: 20,
    });
  } finally {
    const error = new FleetError("ClusterProviderClosed", "The test is over");
    await Promise.all([keeper.close(error), fresh.close(error)]);
    for (const stub of stubs) await stub[Symbol.asyncDispose]();
  }
  expect(await leakedSince(before)).toEqual({});
}

test(`whatever happens, a spoke ends as after a fresh start (KNFLEET_SEED=${seed})`, async () => {
  await fc.assert(fc.asyncProperty(fc.array(happening, { maxLength: 12 }), run), {
    seed,
    numRuns: runsOf(48),
    endOnFailure: true,
    verbose: true,
  });
}, 300_000);
