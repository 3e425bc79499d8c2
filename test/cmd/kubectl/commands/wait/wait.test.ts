import { describe, expect, test } from "vitest";

import type { Component } from "../../../../../api/component.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { goalOf, minimumOf, standingOf } from "../../../../../cmd/kubectl/commands/wait/wait.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { startChangingCluster } from "../../changing-cluster.ts";
import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";

const conditions = (
  ...list: readonly (readonly [string, "True" | "False", string?, string?])[]
): Component => {
  const at = "2026-11-21T11:00:00Z";
  return component({
    status: {
      observedGeneration: 1,
      version: "1.23.0",
      conditions: list.map(([type, status, reason, message]) => ({
        type,
        status,
        lastTransitionTime: at,
        ...(reason === undefined ? {} : { reason }),
        ...(message === undefined ? {} : { message }),
      })),
    },
  });
};

const ready = component();
const blocked = conditions(
  ["Ready", "False"],
  ["TargetClusterResolved", "False", "ClusterProfileNotFound"],
);
const trying = conditions(["Ready", "False"], ["InstallSucceeded", "False", "ApplyFailed"]);
const rolling = conditions(
  ["Ready", "False"],
  ["DeploymentsAvailable", "False", "DeploymentsNotReady"],
);
const skipping = conditions(["Ready", "False"], ["VersionMigrationEligible", "False", "Error"]);
const failing = ["InstallSucceeded", "False", "Error", "Install failed with message: No"] as const;
const stalled = conditions(["Ready", "False"], failing, ["Stalled", "True", "ManifestInvalid"]);
const retried = conditions(["Ready", "False"], failing);
const resolved = conditions(["Ready", "False"], ["TargetClusterResolved", "True"]);

describe("an installation", () => {
  test.each([
    { name: "that is ready", goal: "ready", of: ready, state: "met" },
    {
      name: "of an older generation",
      goal: "ready",
      of: component({ generation: 2 }),
      state: "waiting",
    },
    { name: "without a status", goal: "ready", of: component({ status: {} }), state: "waiting" },
    { name: "that does not exist", goal: "ready", of: undefined, state: "waiting" },
    { name: "whose profile does not exist", goal: "ready", of: blocked, state: "failed" },
    { name: "that is tried again", goal: "ready", of: trying, state: "waiting" },
    { name: "that rolls out", goal: "ready", of: rolling, state: "waiting" },
    { name: "whose version skips one", goal: "ready", of: skipping, state: "failed" },
    { name: "whose manifest is invalid", goal: "ready", of: stalled, state: "failed" },
    { name: "that its cluster refused", goal: "ready", of: retried, state: "waiting" },
    {
      name: "that is being deleted",
      goal: "ready",
      of: component({ deletedAt: "2026-11-21T11:59:00Z" }),
      state: "failed",
    },
    { name: "whose cluster is resolved", goal: "resolved", of: resolved, state: "met" },
    { name: "whose cluster is not", goal: "resolved", of: trying, state: "waiting" },
    { name: "of the minor version", goal: "version=1.23", of: ready, state: "met" },
    { name: "of the very version", goal: "version=v1.23.0", of: ready, state: "met" },
    { name: "of a version that begins alike", goal: "version=1.2", of: ready, state: "waiting" },
    { name: "of another version", goal: "version=1.22", of: ready, state: "waiting" },
    { name: "that is gone", goal: "deleted", of: undefined, state: "met" },
    { name: "that is still there", goal: "deleted", of: ready, state: "waiting" },
  ])("$name is $state for --for=$goal", ({ goal, of, state }) => {
    expect(standingOf(goalOf(goal), of).state).toBe(state);
  });
});

test.each([
  ["3", 10, 3],
  ["90%", 10, 9],
  ["95%", 10, 10],
  ["0%", 10, 0],
  ["100%", 0, 0],
])("--min %s of %i is %i", (text, total, count) => expect(minimumOf(text, total)).toBe(count));

test.each(["x", "101%", "-1", "1.5"])("--min %s is refused", (text) => {
  expect(() => minimumOf(text, 1)).toThrow(/--min/);
});

test.each([
  ["Ready", "ready"],
  ["condition=Ready", "ready"],
  ["condition=Ready=True", "ready"],
  ["condition=TargetClusterResolved", "resolved"],
  ["delete", "deleted"],
])("--for=%s of kubectl is %s", (text, kind) => expect(goalOf(text)).toEqual({ kind }));

test.each(["", "happy", "condition=Ready=False", "condition=", "version=", "version=x"])(
  "--for=%s is refused",
  (text) => {
    expect(() => goalOf(text)).toThrow(/--for/);
  },
);

async function ran(objects: readonly KubeObject[], line: string) {
  await using hub = await startStubHub(objects);
  return await runText(["wait", ...line.split(" ")], { env: hub.env });
}

describe("wait", () => {
  test.each([
    { objects: [ready], line: "--for=ready", code: 0 },
    { objects: [ready], line: "ks/knative-serving --for=version=1.23", code: 0 },
    { objects: [ready, blocked], line: "-A --for=ready", code: 1 },
    {
      objects: [ready, { ...blocked, metadata: { ...blocked.metadata, name: "b" } }],
      line: "--min 1",
      code: 0,
    },
    { objects: [trying], line: "--timeout 1s", code: 124 },
    { objects: [blocked], line: "--timeout 1s --no-fail-fast", code: 124 },
    { objects: [ready], line: "ks/other --timeout 1s", code: 124 },
    { objects: [], line: "--timeout 1s", code: 124 },
    { objects: [], line: "ks/gone --for=deleted", code: 0 },
    { objects: [ready], line: "--for=deleted --timeout 1s", code: 124 },
    { objects: [ready], line: "--for=nothing", code: 2 },
    { objects: [blocked], line: "--timeout 1s --fail-fast=false", code: 124 },
    { objects: [blocked], line: "--timeout 1s --no-fail-fast=false", code: 1 },
    { objects: [ready, trying], line: "-A --min 5 --timeout 1s", code: 124 },
    { objects: [blocked], line: "-A --min 5 --timeout 1s", code: 124 },
    { objects: [ready], line: "ks/a ke/b --min 3", code: 2 },
    { objects: [ready], line: "a b --min 5", code: 2 },
    { objects: [ready], line: "--timeout=0", code: 0 },
    { objects: [trying], line: "--timeout=0", code: 124 },
    { objects: [blocked], line: "--timeout 0s", code: 1 },
    { objects: [ready], line: "--timeout=-1", code: 0 },
    { objects: [ready], line: "--timeout -1s", code: 0 },
  ])("$line exits $code", async ({ objects, line, code }) => {
    expect((await ran(objects, line)).exitCode).toBe(code);
  });

  test("lists the laggards with their reason when the time is over", async () => {
    const { stdout, stderr } = await ran([ready, trying], "-A --timeout 1s");
    expect(stdout).toContain("waiting");
    expect(stderr).toMatch(/^error: timed out: 1 of 2, 2 wanted/);
  });

  test("that is interrupted says what it knows and exits 130", async () => {
    const stop = new AbortController();
    await using hub = await startStubHub([trying], () => {
      setTimeout(() => stop.abort(), 200);
      return undefined;
    });
    const { exitCode } = await runText(["wait"], { env: hub.env, signal: stop.signal });
    expect(exitCode).toBe(130);
  });

  test("ends when what was named is deleted, and says so; what was not named is no longer waited for", async () => {
    const other = { ...trying, metadata: { ...trying.metadata, name: "other", uid: "other" } };
    const outcomeOf = async (...names: readonly string[]) => {
      await using hub = await startChangingCluster(trying, other);
      const running = runText(["wait", ...names, "-o", "json"], hub);
      // Of KnativeServings, and of KnativeEventings where nothing is named.
      await waitFor("its watches", () => hub.watches === (names.length === 0 ? 2 : 1));
      hub.remove(other);
      const healed = { ...ready, metadata: { ...ready.metadata, resourceVersion: "9" } };
      if (names.length === 0) hub.put(healed);
      return await running;
    };
    const named = await outcomeOf("ks/other", "ks/knative-serving");
    expect(named.exitCode).toBe(1);
    expect(JSON.parse(named.stdout)).toMatchObject({
      items: [
        {
          name: "other",
          state: "failed",
          reason: "NotFound",
          message: expect.stringMatching(/deleted while/),
        },
        { name: "knative-serving" },
      ],
    });
    expect((await outcomeOf()).exitCode).toBe(0);
  });

  test.each([
    { line: "--for=ready", objects: [ready] },
    { line: "ks/gone --for=deleted", objects: [] },
  ])(
    "$line that is true already is looked at once, without --stable",
    async ({ line, objects }) => {
      const looks: string[] = [];
      await using hub = await startStubHub(objects, ({ path, query }) => {
        if (path.endsWith("/knativeservings") && query?.get("watch") !== "true") looks.push(path);
        return undefined;
      });
      const { exitCode } = await runText(["wait", ...line.split(" ")], { env: hub.env });
      expect(exitCode).toBe(0);
      expect(looks).toHaveLength(1);
    },
  );

  test("holds for the stable time before it says so", async () => {
    await using hub = await startStubHub([ready]);
    const began = performance.now();
    const { exitCode } = await runText(["wait", "--stable", "1s"], { env: hub.env });
    expect(exitCode).toBe(0);
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
  });
});
