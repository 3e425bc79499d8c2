import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { PluginLimits } from "../../../access/plugins/plugin-limits.ts";
import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import type { Clock } from "../../../access/time/clock.ts";
import { TurnWaits } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, stub, untilTheEnd } from "../loopback.ts";

const output = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"T1"}}`;
const over = new FleetError("ClusterProviderClosed", "The test is over");

/** Spokes of one provider whose plugin does this first; what it is told of the cluster has the name of the spoke. */
async function keepersOf(
  names: readonly string[],
  { clock, work }: { readonly clock: Clock; readonly work: string },
): Promise<readonly SpokeKeeper[]> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-queue-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const command = join(folder, "plugin");
  await writeFile(command, `#!/bin/sh\n${work}\necho '${output}'\n`);
  await chmod(command, 0o755);
  const api = await stub();
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const providers = fileOf(rawProvider("login", {}, { command }));
  const deps = {
    clock,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
    plugins: new PluginLimits(clock),
  };
  return names.map((name) => {
    const cluster = { server: `${api.server}/${name}`, "certificate-authority-data": ca };
    const plain = profileOf({ accessProviders: [entryOf("login", cluster)] });
    const profile = { ...plain, metadata: { ...plain.metadata, name, uid: name } };
    const outcome = {
      kind: "access",
      access: resolveAccess(profile, providers, Date.now()),
    } as const;
    const keeper = new SpokeKeeper(outcome, deps, () => undefined);
    return untilTheEnd(Object.assign(keeper, { [Symbol.asyncDispose]: () => keeper.close(over) }));
  });
}

function numbered(count: number, name: string): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${name}-${number}`);
}

/** What became of it, for whoever asked at the start. */
async function acquired(keeper: SpokeKeeper, signal: AbortSignal): Promise<string> {
  try {
    await keeper.acquire(signal);
    return "connected";
  } catch (error) {
    return error instanceof FleetError ? `${error.reason} ${error.message}` : "aborted";
  }
}

test("who waits for a connection whose plugin waits for its place is not told that the spoke is away", async () => {
  const clock = untilTheEnd(new QuickClock(5));
  // Two at a time, a second each: the last ones begin after 13 s. An attempt may take 12 s, and whoever asks waits for 30 s, so that a plugin may take twice as long on a busy machine.
  const keepers = await keepersOf(numbered(28, "spoke"), { clock, work: "sleep 0.2" });
  const signal = AbortSignal.timeout(120_000);
  const ends = await Promise.all(keepers.map((keeper) => acquired(keeper, signal)));
  expect(new Set(ends)).toEqual(new Set(["connected"]));
  expect(clock.now()).toBeGreaterThan(12_000);
}, 150_000);

test("plugins that hang do not keep the others of their provider waiting", async () => {
  const hung = numbered(2, "hung");
  const well = numbered(6, "well");
  const work = `case "$KUBERNETES_EXEC_INFO" in *hung*) sleep 100;; esac`;
  const clock = untilTheEnd(new QuickClock(10));
  const keepers = await keepersOf([...hung, ...well], { clock, work });
  const began = clock.now();
  const signal = AbortSignal.timeout(120_000);
  const ends = await Promise.all(keepers.slice(2).map((keeper) => acquired(keeper, signal)));
  expect(new Set(ends)).toEqual(new Set(["connected"]));
  // A plugin may run for 30 s.
  expect(clock.now() - began).toBeLessThan(20_000);
}, 150_000);

test("a limit counts only the time in which nothing waits for its turn", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reason = new Error("Too late");
  const all = new TurnWaits(systemClock);
  const one = new TurnWaits(systemClock, all);
  const { signal } = new AbortController();
  using ofAll = all.limit(signal, { ms: 1_000, reason });
  using ofOne = one.limit(signal, { ms: 1_000, reason });
  vi.advanceTimersByTime(900);
  const [inOne, again, inAll] = [one.begin(), one.begin(), all.begin()];
  vi.advanceTimersByTime(3_600_000);
  inOne[Symbol.dispose]();
  inOne[Symbol.dispose]();
  vi.advanceTimersByTime(3_600_000);
  again[Symbol.dispose]();
  vi.advanceTimersByTime(99);
  expect([ofAll, ofOne].map((limit) => limit.signal.aborted)).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  expect([ofAll, ofOne].map((limit) => limit.signal.aborted)).toEqual([false, true]);
  inAll[Symbol.dispose]();
  vi.advanceTimersByTime(100);
  expect(ofAll.signal.reason).toBe(reason);
});
