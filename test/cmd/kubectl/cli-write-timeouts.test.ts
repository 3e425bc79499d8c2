import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { delay } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { steering } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { selectionShrank } from "../../../api/sentences.ts";
import { quickenSystemClock } from "../../support/quick-system-clock.ts";
import { silentListener } from "../silent-networks.ts";
import { lineOf, writeFilesOfLines } from "./every-command.ts";
import { reviews } from "./reviews.ts";
import { runText } from "./run-text.ts";
import { awaitingSet, completedRevision } from "./set-facts.ts";
import { environmentFor, startStubHub, type StubHub } from "./stub-hub.ts";

/** Commands that write, besides those that wait by themselves: wait and migrate. */
const writing = [
  "register",
  "unregister",
  "rollout approve",
  "rollout pause",
  "rollout resume",
  "rollout retry",
  "rollout skip",
  "rollout abort",
  "rollout undo",
  "rollout accept-selection",
];

const set = awaitingSet();

/** A set on which each of them writes. */
const steered: KubeObject = {
  ...set,
  metadata: { ...set.metadata, annotations: { [steering.pause]: "because" } },
  status: {
    ...set.status,
    conditions: [
      {
        type: "Selected",
        status: "False",
        reason: "SuspiciousShrink",
        message: selectionShrank.of(steering.acceptSelection, "0123abcd"),
      },
    ],
  },
};

const profile: KubeObject = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: { namespace: "fleet", name: "eu-1", uid: "eu-1", resourceVersion: "1" },
  spec: { clusterManager: { name: "knfleet-register" }, displayName: "eu-1" },
};

/** How long the slow hub takes for each request. */
const requestMs = 2_000;

// A request that is given up goes on at the hub.
const { signal: never } = new AbortController();

let folder: string;
const opened = new AsyncDisposableStack();
let slow: StubHub;
let deadHub: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-timeouts-"));
  await writeFilesOfLines(folder);
  const revisions = ["1.22", "1.23"].map((version, index) =>
    completedRevision(index + 1, { spec: { version } }),
  );
  const objects = [steered, profile, ...revisions];
  slow = opened.use(
    await startStubHub(
      objects,
      reviews(() => true),
      lateAnswer,
    ),
  );
  deadHub = await environmentFor(folder, opened.use(await silentListener()).port);
  // Loads the modules of the commands, which would take time of the first run.
  for (const name of writing) await runText(lineOf(name, folder), { env: {} });
});
afterAll(async () => {
  await opened.disposeAsync();
  await rm(folder, { recursive: true });
});

function lateAnswer(): Promise<void> {
  return delay(systemClock, requestMs, never);
}

/** Runs a command under a quick clock, which the slow hub has, too. */
async function timed(name: string, env: Readonly<Record<string, string>>, limits: string) {
  quickenSystemClock(10);
  const start = systemClock.now();
  const more = name === "rollout undo" ? ["--apply"] : [];
  const place = name.startsWith("rollout") ? ["-n", "team-a"] : [];
  const line = [...lineOf(name, folder), ...place, ...more, ...limits.split(" ")];
  const ran = await runText(line, { env });
  return { ...ran, tookMs: systemClock.now() - start };
}

/** What a command prints whose requests were all answered. On this hub, register and unregister end with refusals of their own. */
function doneText(name: string): RegExp {
  if (name === "register") return /does not begin with https:/;
  if (name === "unregister") return /fleet +eu-1 +is deleted/;
  return /^knativeservingset\S+prod /;
}

describe("a hub that never answers", () => {
  test.each(
    // The cluster that register reads is the same server.
    ["--timeout 2s", "--request-timeout 2s --spoke-timeout 2s"].flatMap((limits) =>
      writing.map((name) => ({ name, limits })),
    ),
  )("ends $name after $limits", async ({ name, limits }) => {
    const ran = await timed(name, deadHub, limits);
    expect(ran.stderr).toContain("did not answer in time");
    expect(ran.exitCode).toBe(2);
    expect(ran.tookMs).toBeGreaterThanOrEqual(2_000);
    expect(ran.tookMs).toBeLessThan(10_000);
  });
});

describe("a hub that needs 2 s for each request", () => {
  // accept-selection sends only two requests, one after the other.
  const several = writing.filter((name) => name !== "rollout accept-selection");

  test.each(several)("lets %s take longer than --request-timeout in all", async (name) => {
    // register sends more requests at once than a client has connections to a hub without HTTP/2.
    const limitMs = name === "register" ? 10_000 : 5_000;
    const ran = await timed(name, slow.env, `--request-timeout ${limitMs}ms --timeout 5m`);
    expect(ran.stdout + ran.stderr).toMatch(doneText(name));
    expect(ran.stderr).not.toContain("in time");
    expect(ran.tookMs).toBeGreaterThan(limitMs);
  });

  test.each(
    [
      { what: "one request is longer than --request-timeout", limits: "--request-timeout 1s" },
      {
        what: "all requests are longer than --timeout",
        limits: "--request-timeout 30s --timeout 3s",
      },
    ].flatMap((each) => writing.map((name) => ({ name, ...each }))),
  )("ends $name when $what", async ({ name, limits }) => {
    const ran = await timed(name, slow.env, limits);
    expect(ran.stderr).toContain("in time");
    expect(ran.stdout + ran.stderr).not.toMatch(doneText(name));
    expect(ran.exitCode).toBe(2);
  });
});
