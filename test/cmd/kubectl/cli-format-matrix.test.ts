import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { silentListener } from "../silent-networks.ts";
import { component } from "./fleet-facts.ts";
import { recordedObjects } from "./recorded-hub.ts";
import { runText, type RunText } from "./run-text.ts";
import { environmentFor, forbidden, startStubHub, type StubHub } from "./stub-hub.ts";

/** Formats of every command that prints documents, with a template where one is needed. */
const usual = [
  "table",
  "wide",
  "json",
  "yaml",
  "name",
  "jsonpath={.kind}",
  "jsonpath-as-json={.items}",
  "custom-columns=KIND:.kind",
];

/** What has to stand behind a command's name; nothing for the others. */
const argsOf: Readonly<Record<string, readonly string[]>> = {
  get: ["deployments"],
  explain: ["ApplyFailed"],
  "rollout status": ["kss/prod"],
  "rollout verify": ["kss/prod"],
  "rollout plan": ["kss/prod"],
  "rollout history": ["kss/prod"],
};

/** Commands whose items have no names: `-o name` is refused by them. */
const nameless = ["can-i", "events", "logs", "tree"];

let folder: string;
let hub: StubHub;
let forbidding: StubHub;
let silent: Awaited<ReturnType<typeof silentListener>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-formats-"));
  await writeFile(join(folder, "providers.json"), '{"providers": []}');
  await writeFile(join(folder, "serving.json"), JSON.stringify(serving));
  hub = await startStubHub(recordedObjects);
  forbidding = await startStubHub([], () => forbidden());
  silent = await silentListener();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await forbidding[Symbol.asyncDispose]();
  await silent[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const serving = {
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeServing",
  metadata: { name: "knative-serving", namespace: "team-a" },
  spec: {},
};

const entries = commandTable().filter(({ kind }) => kind !== undefined);
const asking = entries.map(({ name }) => name).filter((name) => name !== "explain");

function formatsOf(command: string): readonly string[] {
  const { formats = [] } = entries.find(({ name }) => name === command) ?? {};
  const refused = nameless.includes(command) ? "name" : "";
  return [...usual, ...formats].filter((format) => format !== refused);
}

/** The exit code of a command line in each of its formats. */
async function codesOf(
  command: string,
  more: readonly string[],
  options: RunText = {},
): Promise<Readonly<Record<string, number>>> {
  const files = ["--clusterprofile-provider-file", join(folder, "providers.json")];
  const input = command === "plan" ? ["-f", join(folder, "serving.json")] : [];
  const releases = ["plan", "diff", "can-i"].includes(command)
    ? ["--release-dir", sampleDirOf()]
    : [];
  const line = [
    ...command.split(" "),
    ...files,
    ...input,
    ...releases,
    ...(argsOf[command] ?? []),
    ...more,
  ];
  const codes = await Promise.all(
    formatsOf(command).map(async (format) => {
      const { exitCode } = await runText([...line, "-o", format], options);
      return [format, exitCode] as const;
    }),
  );
  return Object.fromEntries(codes);
}

function all(command: string, code: number): Readonly<Record<string, number>> {
  return Object.fromEntries(formatsOf(command).map((format) => [format, code]));
}

describe("the exit code is the same in every format", () => {
  test.each(entries.map(({ name }) => name))("of %s with a wrong flag: 2", async (name) => {
    expect(await codesOf(name, ["--no-such-flag"])).toEqual(all(name, 2));
  });

  // Port 9 (discard) of the loopback address: nobody listens.
  test.each(asking)("of %s when the hub cannot be reached: 2", async (name) => {
    const env = await environmentFor(folder, 9);
    expect(await codesOf(name, [], { env })).toEqual(all(name, 2));
  });

  test.each(asking)("of %s when the hub forbids everything: 2", async (name) => {
    const { env } = forbidding;
    expect(await codesOf(name, [], { env })).toEqual(all(name, 2));
  });

  test.each(asking)("of %s that is interrupted: 130", async (name) => {
    const env = await environmentFor(folder, silent.port);
    const stop = new AbortController();
    const { signal } = stop;
    void silent.connected().then(() => stop.abort());
    expect(await codesOf(name, [], { env, signal })).toEqual(all(name, 130));
  });

  const answers: Readonly<Record<string, number>> = {
    status: 1,
    deployments: 3,
    events: 3,
    logs: 3,
    tree: 3,
    version: 3,
    wait: 1,
  };
  test.each(asking)("of %s on a fleet that is not well", async (name) => {
    const codes = await codesOf(name, ["-A"], { env: hub.env });
    expect(codes).toEqual(all(name, answers[name] ?? codes["table"] ?? 0));
    expect([1, 2, 3]).toContain(codes["table"]);
  });

  test("of wait whose time is over: 124", async () => {
    const line = ["ke", "-A", "--for=version=9.9", "--timeout=1s"];
    expect(await codesOf("wait", line, { env: hub.env })).toEqual(all("wait", 124));
  });

  test("of explain: 0, and 1 for what nobody knows", async () => {
    expect(await codesOf("explain", [])).toEqual(all("explain", 0));
    expect(await codesOf("explain", ["NoSuchReason"])).toEqual(all("explain", 1));
  });

  test("of what is well: 0", async () => {
    await using well = await startStubHub([component()]);
    expect(await codesOf("status", ["-A", "--no-live"], { env: well.env })).toEqual(
      all("status", 0),
    );
  });
});
