import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { pause } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { steering } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { revisionNameOf } from "../../../sets/desired-spec.ts";
import { revisionObject } from "../../../sets/revision-object.ts";
import { portOf } from "../../fleet/ports.ts";
import { lineOf, writeFilesOfLines } from "./every-command.ts";
import { reviews } from "./reviews.ts";
import { runText } from "./run-text.ts";
import { fleetSet, phased } from "./set-facts.ts";
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

const set = fleetSet({ status: phased("AwaitingApproval", { stage: "early" }) });

/** A set on which each of them writes. */
const steered: KubeObject = {
  ...set,
  metadata: { ...set.metadata, annotations: { [steering.pause]: "because" } },
  spec: {
    ...set.spec,
    rollout: {
      stages: [
        { name: "canary", selector: {} },
        { name: "early", selector: {}, after: { approval: true } },
      ],
    },
  },
  status: {
    ...set.status,
    stages: [{ name: "early", state: "AwaitingApproval" }],
    conditions: [
      {
        type: "Selected",
        status: "False",
        reason: "SuspiciousShrink",
        message: "what is selected now is 0123abcd",
      },
    ],
  },
};

function revision(number: number, version: string): KubeObject {
  const content = { template: { spec: { version } } };
  const name = revisionNameOf({ ...set, spec: content });
  const { metadata, ...object } = revisionObject(set, { name, number, content });
  const annotations = { "knfleet.dev/completed-revision": String(number) };
  return {
    ...object,
    metadata: { ...metadata, name, uid: name, resourceVersion: "1", annotations },
  };
}

const profile: KubeObject = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: { namespace: "fleet", name: "eu-1", uid: "eu-1", resourceVersion: "1" },
  spec: { clusterManager: { name: "knfleet-register" }, displayName: "eu-1" },
};

const delayMs = 300;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

let folder: string;
let quick: StubHub;
let slow: Server;
let dead: Server;
let slowHub: Readonly<Record<string, string>>;
let deadHub: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-timeouts-"));
  await writeFilesOfLines(folder);
  quick = await startStubHub(
    [steered, profile, revision(1, "1.22"), revision(2, "1.23")],
    reviews(() => true),
  );
  slow = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts);
      const asked = { method: request.method ?? "GET", path: request.url ?? "/", body };
      // The command may have given up, and the quick hub may be gone.
      answerLate(asked, response).catch(() => response.destroy());
    });
  });
  // Takes every request and never answers.
  dead = createServer(() => undefined);
  for (const server of [slow, dead]) {
    // oxlint-disable-next-line no-await-in-loop -- two servers
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
  }
  slowHub = await environmentFor(folder, portOf(slow.address()));
  deadHub = await environmentFor(folder, portOf(dead.address()));
});
afterAll(async () => {
  for (const server of [slow, dead]) {
    server.closeAllConnections();
    server.close();
  }
  await quick[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function answerLate({ method, path, body }: Asked, response: ServerResponse): Promise<void> {
  await pause(systemClock, delayMs, AbortSignal.timeout(60_000));
  const answer = await fetch(`${quick.url}${path}`, {
    method,
    ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
  });
  response.writeHead(answer.status, { "content-type": "application/json" });
  response.end(await answer.text());
}

async function timed(name: string, env: Readonly<Record<string, string>>, ...flags: string[]) {
  const start = systemClock.now();
  const more = name === "rollout undo" ? ["--apply"] : [];
  const place = name.startsWith("rollout") ? ["-n", "team-a"] : [];
  const ran = await runText([...lineOf(name, folder), ...place, ...more, ...flags], { env });
  return { ...ran, tookMs: systemClock.now() - start };
}

/** A busy machine is slow, too. */
const ampleMs = 8_000;

describe("a hub that never answers", () => {
  test.each(writing)("ends %s after --timeout, and after --request-timeout", async (name) => {
    // The cluster that register reads is the same server.
    for (const limits of ["--timeout 500ms", "--request-timeout 500ms --spoke-timeout 500ms"]) {
      // oxlint-disable-next-line no-await-in-loop -- one run after another
      const ran = await timed(name, deadHub, ...limits.split(" "));
      expect(ran.stderr).toContain("did not answer in time");
      expect(ran.exitCode).toBe(2);
      expect(ran.tookMs).toBeLessThan(ampleMs);
    }
  });
});

describe("a hub that needs long for each request", () => {
  test.each(writing)("lets %s do its work: --request-timeout is for one request", async (name) => {
    const limits = ["--request-timeout", "5s", "--timeout", "60s"];
    const ran = await timed(name, slowHub, ...limits);
    expect(ran.stderr).not.toContain("in time");
    expect(ran.tookMs).toBeGreaterThan(delayMs);
    // On this hub, register ends with its own refusals, and unregister shows what it would delete.
    const done = name.startsWith("rollout") ? /^knativeservingset.*prod / : /^(?:CLUSTER|$)/;
    expect(ran.stdout).toMatch(done);
  });

  test.each(writing)("ends %s after --timeout, which is for all requests", async (name) => {
    const ran = await timed(name, slowHub, "--request-timeout", "30s", "--timeout", "400ms");
    expect(ran.stderr).toContain("in time");
    expect(ran.exitCode).toBe(2);
    expect(ran.tookMs).toBeLessThan(ampleMs);
  });
});
