import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import type { Spokes } from "../../../access/spokes/spokes.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { rethrow } from "../../support/rethrow.ts";
import { entryOf, profileOf, rawProvider } from "../builders.ts";
import { untilTheEnd } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);
const ref = { namespace: "fleet", name: "spoke-1" };
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-spokes-"));
});

afterEach(() => rm(folder, { recursive: true }));

/** Spokes of a hub whose watch of ClusterProfiles is this. */
async function spokesOf(watch: () => AsyncGenerator<WatchEvent>): Promise<Spokes> {
  const providerFile = join(folder, "providers.json");
  await writeFile(providerFile, JSON.stringify({ providers: [rawProvider("sr")] }));
  const hub = {
    get: unused,
    watch,
    list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
  };
  return untilTheEnd(
    await openSpokes(
      { clock: systemClock, hub, providerFile, environment: {}, userAgent: "test" },
      signal,
    ),
  );
}

async function* profiles(...found: readonly ClusterProfile[]): AsyncGenerator<WatchEvent> {
  for (const object of found) yield { type: "ADDED", object };
  yield { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true };
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

function unused(): Promise<never> {
  return Promise.reject(new Error("Unused"));
}

async function refusalOf(spokes: Spokes): Promise<string> {
  const error: unknown = await spokes.acquire(ref, signal).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof FleetError)) throw new Error("No FleetError", { cause: error });
  return error.code === undefined ? error.reason : `${error.reason} ${error.code}`;
}

describe("no connection is given", () => {
  test("while ClusterProfiles cannot be read, and it is found out when they can", async () => {
    let served = false;
    const spokes = await spokesOf(() => {
      if (served) return profiles();
      throw new ApiError({
        status: 404,
        reason: "NotFound",
        message: "404 page not found",
        causes: [],
        isStatus: false,
        request: "GET /apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles",
      });
    });
    expect(await refusalOf(spokes)).toBe("ClusterProfileUnavailable");
    served = true;
    await expect.poll(() => refusalOf(spokes), { timeout: 60_000 }).toBe("ClusterProfileNotFound");
  });

  test.each([
    { name: "for a profile that is not there", found: [], reason: "ClusterProfileNotFound" },
    {
      name: "for an unhealthy one",
      found: [profileOf({ conditions: [] })],
      reason: "ClusterProfileNotReady",
    },
    {
      name: "for one without a common provider",
      found: [profileOf()],
      reason: "MulticlusterDisabled NoMatchingProvider",
    },
    {
      name: "for one with a bad endpoint",
      found: [profileOf({ accessProviders: [entryOf("sr", { server: "http://x" })] })],
      reason: "RemoteClientCreationFailed EndpointInvalid",
    },
    {
      name: "when the plugin is not there",
      found: [profileOf({ accessProviders: [entryOf("sr")] })],
      reason: "AccessProviderFailed PluginNotFound",
    },
  ])("$name", async ({ found, reason }) => {
    const spokes = await spokesOf(() => profiles(...found));
    expect(await refusalOf(spokes)).toBe(reason);
  });

  test("after the end", async () => {
    const spokes = await spokesOf(() => profiles());
    await spokes[Symbol.asyncDispose]();
    expect(await refusalOf(spokes)).toBe("ClusterProviderClosed");
  });
});

test("only what matters of a profile is told", async () => {
  const events = Promise.withResolvers<void>();
  const profile = profileOf({ accessProviders: [entryOf("sr")] });
  const later = (resourceVersion: string, status: ClusterProfile["status"]): ClusterProfile => ({
    ...profile,
    metadata: { ...profile.metadata, resourceVersion },
    ...(status === undefined ? {} : { status }),
  });
  const spokes = await spokesOf(async function* () {
    yield { type: "ADDED", object: profile };
    yield { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true };
    await events.promise;
    const properties = [{ name: "p", value: "1" }];
    yield { type: "MODIFIED", object: later("10", { ...profile.status, properties }) };
    yield { type: "MODIFIED", object: later("11", { ...profile.status, conditions: [] }) };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  await expect.poll(() => refusalOf(spokes)).toBe("AccessProviderFailed PluginNotFound");
  const told: (string | undefined)[] = [];
  spokes.onChange(() => {
    const state = spokes.state(ref);
    told.push(state !== undefined && "error" in state ? state.error.reason : undefined);
  });
  events.resolve();
  await vi.waitFor(() => expect(told).toContain("ClusterProfileNotReady"), 30_000);
  expect(new Set(told)).toEqual(new Set(["ClusterProfileNotReady"]));
});

test("a bad provider file is refused at the start, with its path", async () => {
  const providerFile = join(folder, "providers.json");
  await writeFile(providerFile, "[");
  const hub = { get: unused, watch: () => profiles(), list: unused };
  const opening = openSpokes(
    { clock: systemClock, hub, providerFile, environment: {}, userAgent: "test" },
    signal,
  );
  await expect(opening).rejects.toMatchObject({
    reason: "ConfigInvalid",
    code: "ProviderFileInvalid",
    message: expect.stringContaining(providerFile),
  });
});

describe("a provider file that the webhook refuses", () => {
  const shell = rawProvider("sr", {}, { command: "/bin/sh", args: ["-c", "id"] });
  const good = JSON.stringify({ providers: [rawProvider("sr")] });
  const files = [
    {
      name: "with a shell for a plugin",
      text: JSON.stringify({ providers: [shell] }),
      problem: "must be a plugin, not a shell or an interpreter",
    },
    {
      name: "with a plugin elsewhere",
      text: JSON.stringify({ providers: [rawProvider("sr", {}, { command: "/tmp/plugin" })] }),
      problem: "must be below a folder of plugins",
    },
    { name: "without providers", text: "{}", problem: "must hold at least one provider" },
    {
      name: "with __proto__",
      text: good.replace('"name"', '"__proto__":{"a":1},"name"'),
      problem: "the key __proto__ is not allowed",
    },
  ];
  const hub = { get: unused, watch: () => profiles(), list: unused };
  const options = { clock: systemClock, hub, environment: {}, userAgent: "test" };

  test.each(files)("is refused at the start: one $name", async ({ text, problem }) => {
    const providerFile = join(folder, "providers.json");
    await writeFile(providerFile, text);
    const pluginRoots = ["/p"];
    await expect(openSpokes({ ...options, providerFile, pluginRoots }, signal)).rejects.toThrow(
      expect.objectContaining({
        reason: "ConfigInvalid",
        code: "ProviderFileInvalid",
        message: expect.stringContaining(problem),
      }),
    );
  });

  test("leaves the last good one in use, and a warning says what is wrong", async () => {
    const providerFile = join(folder, "providers.json");
    await writeFile(providerFile, good);
    const warnings: object[] = [];
    const log = {
      info: () => undefined,
      warn: (facts: object, message: string) => void warnings.push({ ...facts, message }),
      error: (facts: object) => rethrow(facts),
    };
    // The file is looked at every half second.
    const quick = { ...options, clock: untilTheEnd(new QuickClock(10)) };
    const pluginRoots = ["/p"];
    untilTheEnd(await openSpokes({ ...quick, providerFile, pluginRoots, log }, signal));
    for (const { text, problem } of files) {
      await writeFile(providerFile, text);
      const error = expect.stringContaining(problem);
      const expected = { error, message: "Kept the last good provider file" };
      await vi.waitFor(() => expect(warnings).toContainEqual(expected), { timeout: 30_000 });
    }
  });
});
