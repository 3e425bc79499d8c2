import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { portOf } from "../../fleet/ports.ts";
import { recordedObjects } from "./recorded-hub.ts";
import { knfleetFile } from "./run-knfleet.ts";
import { runText } from "./run-text.ts";
import { environmentFor, startStubHub, type StubHub } from "./stub-hub.ts";

let folder: string;
let hub: StubHub;
let forbidding: StubHub;
let silent: Server;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-matrix-"));
  await writeFile(join(folder, "providers.json"), '{"providers": []}');
  await writeFile(join(folder, "serving.yaml"), serving);
  hub = await startStubHub(recordedObjects);
  const body = { kind: "Status", apiVersion: "v1", code: 403, reason: "Forbidden", message: "no" };
  forbidding = await startStubHub([], () => ({ status: 403, body }));
  silent = createServer();
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await forbidding[Symbol.asyncDispose]();
  silent.close();
  await rm(folder, { recursive: true });
});

const serving = `apiVersion: operator.knative.dev/v1beta1
kind: KnativeServing
metadata: { name: knative-serving, namespace: team-a }
spec: {}
`;

/** What has to stand behind a command's name; nothing for the others. */
const argsOf: Readonly<Record<string, readonly string[]>> = {
  get: ["pods"],
  explain: ["ApplyFailed"],
  completion: ["bash"],
  connect: ["fleet/eu-1", "--", "true"],
  kubeconfig: ["fleet/eu-1"],
  credential: ["fleet/eu-1"],
  register: ["hub"],
  unregister: ["fleet/eu-1", "--keep-spoke"],
  wait: ["--timeout=5s"],
  top: ["--once"],
  "rollout status": ["kss/prod"],
  "rollout adopt": ["ks"],
  "rollout plan": ["kss/prod"],
  "rollout history": ["kss/prod"],
  "rollout undo": ["kss/prod"],
  "rollout approve": ["kss/prod"],
  "rollout pause": ["kss/prod"],
  "rollout resume": ["kss/prod"],
  "rollout retry": ["kss/prod"],
  "rollout accept-selection": ["kss/prod"],
};

/** Commands that read release files. */
const rendering = ["render", "plan", "diff", "can-i"];

/** Commands that ask no server; mcp does when a client asks it. */
const offline = ["explain", "completion", "render", "mcp"];

const names = commandTable().map(({ name }) => name);
const asking = names.filter((name) => !offline.includes(name));

function lineOf(name: string): readonly string[] {
  const files = ["--clusterprofile-provider-file", join(folder, "providers.json")];
  const input = ["-f", join(folder, "serving.yaml")];
  const file = ["render", "plan", "check"].includes(name) ? input : [];
  // Nothing of this depends on what is in a release; without the flag it would be downloaded.
  const releases = rendering.includes(name) ? ["--release-dir", sampleDirOf()] : [];
  return [...name.split(" "), ...files, ...file, ...releases, ...(argsOf[name] ?? [])];
}

describe("every command", () => {
  test.each(names)("%s --help exits with 0 and says nothing on standard error", async (name) => {
    const { exitCode, stdout, stderr } = await runText([...name.split(" "), "--help"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain("Exit codes:");
  });

  test.each(names)("%s with a flag that does not exist exits with 2", async (name) => {
    const { exitCode, stdout, stderr } = await runText([...name.split(" "), "--no-such-flag"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: Unknown option '--no-such-flag'\nnext: /);
  });
});

describe("every command that asks the hub", () => {
  // Port 9 (discard) of the loopback address: nobody listens.
  test.each(asking)("%s exits with 2 when the hub cannot be reached", async (name) => {
    const { exitCode, stderr } = await runText(lineOf(name), {
      env: await environmentFor(folder, 9),
    });
    expect({ name, exitCode }).toEqual({ name, exitCode: 2 });
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  test.each(asking)("%s exits with 2 when the hub forbids everything", async (name) => {
    const { exitCode, stderr } = await runText(lineOf(name), { env: forbidding.env });
    expect({ name, exitCode, said: stderr !== "" }).toEqual({ name, exitCode: 2, said: true });
  });

  test.each(asking)(
    "%s exits with 130 when it is interrupted while the hub is silent",
    async (name) => {
      const stop = new AbortController();
      silent.once("connection", () => stop.abort());
      const env = await environmentFor(folder, portOf(silent.address()));
      const { exitCode } = await runText(lineOf(name), { env, signal: stop.signal });
      expect({ name, exitCode }).toEqual({ name, exitCode: 130 });
    },
  );
});

describe("every command that prints", () => {
  const printing = names.filter((name) => !["connect", "credential", "gather"].includes(name));

  test.each(printing)("%s ends quietly when nobody reads its output", async (name) => {
    const { PATH = "" } = process.env;
    const child = spawn(process.execPath, [knfleetFile, ...lineOf(name)], {
      env: { PATH, HOME: folder, ...hub.env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 60_000,
    });
    child.stdout.destroy();
    const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect([0, 1, 2, 3]).toContain(child.exitCode);
    expect(stderr).not.toMatch(/EPIPE|^ {4}at /m);
  });
});
