import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { waitFor } from "../../fleet/wait-for.ts";
import { compileCache } from "../../support/compile-cache.ts";
import { startChangingCluster, type ChangingCluster } from "./changing-cluster.ts";
import { loggingObjects } from "./commands/logs/recorded-logs.ts";
import { component } from "./fleet-facts.ts";
import { knfleetFile } from "./run-knfleet.ts";

const controllerPod = "knfleet-controller-7c9f-x1";
const eventing = component({ kind: "KnativeEventing", cluster: null });
const told = (name: string) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { namespace: "team-a", name, uid: name, resourceVersion: "8" },
  involvedObject: { kind: "KnativeEventing", namespace: "team-a", uid: eventing.metadata.uid },
  reason: "Told",
  message: name,
  lastTimestamp: "2026-11-21T11:00:00Z",
});
const line = (msg: string): string =>
  JSON.stringify({ component: "KnativeEventing team-a/knative-eventing", msg });

interface Stream {
  readonly name: string;
  readonly args: readonly string[];
  /** What it has printed when it goes on; absent: it prints nothing before its end. */
  readonly first?: string;
  /** Makes it print more. */
  readonly more: (cluster: ChangingCluster, turn: number) => void;
}

const streams: readonly Stream[] = [
  {
    name: "status -w",
    args: ["status", "-A", "-w"],
    first: "knative-eventing",
    more: (cluster, turn) => {
      const metadata = { ...eventing.metadata, generation: 2 + turn, resourceVersion: `${turn}` };
      cluster.put({ ...eventing, metadata });
    },
  },
  {
    name: "events -w",
    args: ["events", "-A", "-w"],
    first: "first",
    more: (cluster, turn) => cluster.put(told(`more-${turn}`)),
  },
  {
    name: "logs -f",
    args: ["logs", "-A", "-f"],
    first: "first",
    more: (cluster, turn) => cluster.say(controllerPod, line(`more ${turn}`)),
  },
  { name: "wait", args: ["wait", "nothing"], more: () => undefined },
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-streams-"));
  await writeFile(join(folder, "providers.json"), '{"providers": []}');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ran {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Temporary files that are still there. */
  readonly left: readonly string[];
}

/** Runs a stream in a process of its own without a terminal, and does something once it goes on; it has a temporary kubeconfig for plugins. */
async function ran(
  { args, first }: Stream,
  use: (child: ChildProcess, cluster: ChangingCluster) => void | Promise<void>,
): Promise<Ran> {
  await using cluster = await startChangingCluster(...loggingObjects, told("first"));
  cluster.say(controllerPod, line("first"));
  const TMPDIR = await mkdtemp(join(folder, "temporary-"));
  const providers = ["--clusterprofile-provider-file", join(folder, "providers.json")];
  const { PATH = "" } = process.env;
  const child = spawn(
    process.execPath,
    [knfleetFile, ...args, ...providers, "--plugin-namespace", "x"],
    {
      env: { PATH, HOME: folder, ...compileCache, ...cluster.env, TMPDIR },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const closed = once(child, "close");
  const written = { stdout: "", stderr: "" };
  child.stdout.on("data", (text: Buffer) => (written.stdout += text.toString()));
  child.stderr.on("data", (text: Buffer) => (written.stderr += text.toString()));
  try {
    // A list and a watch of each kind.
    await waitFor("its watches", () => cluster.requests.length >= 4);
    await waitFor("its first line", () => written.stdout.includes(first ?? ""));
    await use(child, cluster);
    await closed;
  } finally {
    child.kill("SIGKILL");
  }
  return { exitCode: child.exitCode, ...written, left: await readdir(TMPDIR) };
}

describe.each(streams)("$name", (stream) => {
  test("ends with 130 after Ctrl-C, without a terminal, and leaves nothing behind", async () => {
    const { exitCode, stdout, stderr, left } = await ran(stream, (child) => {
      child.kill("SIGINT");
    });
    expect({ exitCode, left }).toEqual({ exitCode: 130, left: [] });
    // oxlint-disable-next-line no-control-regex -- nothing that moves a cursor
    expect(`${stdout}${stderr}`).not.toMatch(/\u001b|^ {4}at |nternal error/m);
  });
});

describe.each(streams.filter(({ first }) => first !== undefined))("$name", (stream) => {
  test("ends quietly when its reader goes away, and leaves nothing behind", async () => {
    const { exitCode, stderr, left } = await ran(stream, async (child, cluster) => {
      child.stdout?.destroy();
      let turn = 0;
      // It hears of it when it has something to say.
      await waitFor("its end", () => {
        stream.more(cluster, (turn += 1));
        return child.exitCode !== null;
      });
    });
    expect({ exitCode, left }).toEqual({ exitCode: 0, left: [] });
    expect(stderr).not.toMatch(/EPIPE|^ {4}at |nternal error/m);
  });
});
