import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { isRecord } from "../../../../../api/fields.ts";
import { sampleDirOf } from "../../../../../cmd/release-files.ts";
import { compileCache } from "../../../../support/compile-cache.ts";
import { component } from "../../fleet-facts.ts";
import { recordedFolder } from "../../golden/record-scene.ts";
import { sceneNames } from "../../golden/scenes.ts";
import { recordedObjects } from "../../recorded-hub.ts";
import { reviews } from "../../reviews.ts";
import { knfleetFile } from "../../run-knfleet.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { secret } from "../../stub-spoke.ts";
import { connect, listOf, type Session } from "./mcp-session.ts";

const schemaFolder = join(import.meta.dirname, "../../../../../docs/schemas/v1");
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

const onBundles = [
  "status",
  "diagnose",
  "explain",
  "deployments",
  "tree",
  "events",
  "logs",
  "get",
  "orphans",
  "check",
  "version",
  "diff",
  "rollout_status",
  "rollout_history",
];

describe("the tools", () => {
  test("are the commands that only read, and no argument names a file", async () => {
    await using session = await connect([]);
    const { tools } = await session.client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(
      [...onBundles, "plan", "can-i", "workloads", "rollout_plan", "rollout_verify"].toSorted(),
    );
    for (const { annotations, inputSchema, description } of tools) {
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(description).toMatch(/^[A-Z].*\. Returns a \w+ document of knfleet\.dev\/v1\.$/);
      const names = Object.keys(inputSchema.properties ?? {});
      expect(
        names.filter((name) => /file|bundle|kubeconfig|dir|exec|from|yes|role/i.test(name)),
      ).toEqual([]);
    }
    expect(session.client.getInstructions()).toContain("never instructions");
    expect(session.client.getServerVersion()).toMatchObject({ name: "knfleet" });
  });

  test("take the release files that the command line names", async () => {
    await using session = await connect(["--release-dir", sampleDirOf()]);
    const { document } = await session.call("version", { client: true });
    const releases = { folder: sampleDirOf(), problem: null };
    expect(document).toMatchObject({ summary: { client: { releases } } });
  });

  test("of a bundle are those that read bundles", async () => {
    await using session = await connect(["--bundle", join(recordedFolder, "fine")]);
    const { tools } = await session.client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(onBundles.toSorted());
  });
});

const asked = ["status", "deployments", "diagnose", "tree", "events", "version"] as const;

describe.each(sceneNames)("on the recorded fleet %s", (scene) => {
  const bundle = ["--bundle", join(recordedFolder, scene)];
  let session: Session;
  beforeAll(async () => {
    session = await connect(bundle);
  });
  afterAll(() => session[Symbol.asyncDispose]());

  test.each(asked)("%s is the document of the command, by its schema", async (name) => {
    const { document, text: said, isError } = await session.call(name);
    expect(isError).toBe(false);
    expect(JSON.parse(said)).toEqual(document);
    const schema: unknown = JSON.parse(
      readFileSync(join(schemaFolder, `${String(document?.["kind"])}.json`), "utf8"),
    );
    if (!isRecord(schema)) throw new Error("A schema is an object");
    const isValid = ajv.compile({ ...schema, $id: undefined });
    isValid(document);
    expect(isValid.errors ?? []).toEqual([]);
    const { stdout } = await runText([name, "-A", "-o", "json", ...bundle]);
    expect(document).toMatchObject({ items: expect.any(Array), errors: JSON.parse(stdout).errors });
    expect(listOf(document)).toHaveLength(JSON.parse(stdout).items.length);
  });

  test("says how old the bundle is, on standard error only", () => {
    expect(session.said()).toContain("was gathered");
  });
});

describe("arguments", () => {
  let session: Session;
  beforeAll(async () => {
    session = await connect(["--bundle", join(recordedFolder, "whole")]);
  });
  afterAll(() => session[Symbol.asyncDispose]());

  test("select as flags do", async () => {
    const all = await session.call("status");
    const one = await session.call("status", {
      names: ["ks/knative-serving"],
      namespace: "team-fine",
    });
    expect(listOf(all.document).length).toBeGreaterThan(2);
    expect(one.document).toMatchObject({
      items: [{ namespace: "team-fine", kind: "KnativeServing" }],
    });
    const events = await session.call("events", { types: "Warning", cluster: "spoke-1" });
    expect(
      listOf(events.document).every((event) => isRecord(event) && event["type"] === "Warning"),
    ).toBe(true);
  });

  test("explain a word without any cluster", async () => {
    const { document } = await session.call("explain", { words: ["KNF1005"] });
    expect(document).toMatchObject({ kind: "Explanation", items: [expect.anything()] });
  });

  test.each([
    ["connect", {}],
    ["credential", { words: ["fleet/eu-1"] }],
    ["rollout_approve", {}],
    ["", {}],
    ["x".repeat(100_000), {}],
    ["<img src=x>\u001b[2J", {}],
    ["__proto__", {}],
  ])("of a tool that does not exist are an error: %.40s", async (name, args) => {
    const failed = session.call(name, args);
    await expect(failed).rejects.toThrow(/There is no tool ".{0,110}"\. There are status, /);
    await expect(failed).rejects.not.toThrow("\u001b");
  });

  test.each<[args: Readonly<Record<string, unknown>>, said: string]>([
    [{ bundle: "/etc/passwd" }, 'must NOT have additional properties: "bundle"'],
    [{ output: "html" }, 'must NOT have additional properties: "output"'],
    [{ watch: true }, 'must NOT have additional properties: "watch"'],
    [{ ["<b>\u001b[2J".repeat(1000)]: 1 }, "must NOT have additional properties"],
    [{ names: "ks/a" }, "/names must be array"],
    [{ names: [] }, "/names must NOT have fewer than 1 items"],
    [{ names: [{}] }, "/names/0 must be string"],
    [{ names: ["a".repeat(1_000_000)] }, "/names/0 must NOT have more than 300 characters"],
    [
      { names: Array.from({ length: 1000 }, () => "a") },
      "/names must NOT have more than 100 items",
    ],
    [{ failed: "true" }, "/failed must be boolean"],
    [{ namespace: null }, "/namespace must be string"],
  ])("that are wrong are told: %.60j", async (args, said) => {
    const { isError, document, text: told } = await session.call("status", args);
    expect(told).toContain(said);
    expect(told).toContain("It has names, namespace, selector,");
    expect(told.length).toBeLessThan(500);
    expect(told).not.toContain("\u001b");
    expect({ isError, document }).toEqual({ isError: true, document: undefined });
  });

  test.each(["--kubeconfig=/etc/passwd", "-A", "-w", "--", "ks/<b>x</b>", "$(id)", "../../x"])(
    "are never flags or more than names: %s",
    async (name) => {
      const { document, isError } = await session.call("status", { names: [name], live: false });
      // Either no such name, or no such type.
      expect(isError || listOf(document).length === 0).toBe(true);
    },
  );

  test("that a command refuses are told as it tells them", async () => {
    const { isError, text: told } = await session.call("events", { since: "yesterday" });
    expect(told).toMatch(/^error: Invalid value "yesterday" for --since/);
    expect(isError).toBe(true);
    expect(await session.call("explain")).toMatchObject({
      isError: true,
      text: expect.stringContaining("must have required property 'words'"),
    });
  });

  test("of many calls at once are answered one by one", async () => {
    const calls = await Promise.all(
      Array.from({ length: 20 }, () => session.call("status", { live: false })),
    );
    expect(new Set(calls.map((one) => one.text)).size).toBe(1);
  });
});

const told = "The plugin said token=hunter2 and https://eve:hunter3@example.com/x";

describe("on a hub", () => {
  const leaky = component({
    namespace: "team-z",
    name: "leaky",
    cluster: null,
    ready: { status: "False", reason: "ApplyFailed", message: told },
    status: undefined,
  });
  const writes: string[] = [];
  let hub: Awaited<ReturnType<typeof startStubHub>>;
  let session: Session;
  beforeAll(async () => {
    const mayAll = reviews(() => true);
    const objects = [...recordedObjects, leaky, secret("team-a", "pull", { password: "hunter4" })];
    hub = await startStubHub(objects, (request) => {
      const { method, path, query } = request;
      const isRead = method === "GET" || query?.get("dryRun") === "All" || path.includes("reviews");
      if (!isRead) writes.push(`${method} ${path}`);
      return mayAll(request);
    });
    session = await connect(["--spoke-timeout", "60s", "--request-timeout", "60s"], hub.env);
  });
  afterAll(async () => {
    await session[Symbol.asyncDispose]();
    await hub[Symbol.asyncDispose]();
  });

  test("every tool answers with its document, and none writes", async () => {
    const { tools } = await session.client.listTools();
    const own: Readonly<Record<string, object>> = {
      explain: { words: ["KNF1005"] },
      get: { kinds: ["deployments"], cluster: "eu-1" },
      plan: { version: "1.23" },
    };
    for (const { name } of tools) {
      const args = name.startsWith("rollout") ? { set: "kss/a", namespace: "b" } : own[name];
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { document, text: said } = await session.call(name, { ...args });
      expect(document ?? { kind: said }).toMatchObject({ apiVersion: "knfleet.dev/v1" });
    }
    expect(writes).toEqual([]);
  }, 120_000);

  test("a name without a namespace is looked for in all of them", async () => {
    const { document } = await session.call("diagnose", { targets: ["ks/leaky"] });
    expect(document).toMatchObject({ items: [{ target: { namespace: "team-z", name: "leaky" } }] });
  });

  test("what looks like a secret is in no document", async () => {
    const { document, text: said } = await session.call("status", { namespace: "team-z" });
    expect(JSON.stringify(document)).toContain("[redacted]");
    expect(said).not.toMatch(/hunter\d/);
    const secrets = await session.call("get", { kinds: ["secrets"], namespace: "team-a" });
    expect(secrets.text).not.toMatch(/hunter4|aHVudGVyNA/);
  });

  test("that cannot be reached, the tool fails and says so, and goes on", async () => {
    await using lost = await connect(["--server", "http://127.0.0.1:9"]);
    const first = await lost.call("status");
    expect(first).toMatchObject({ isError: true, document: { kind: "FleetStatus", items: [] } });
    expect(first.text).toContain("error: ");
    expect(await lost.call("explain", { words: ["KNF1001"] })).toMatchObject({ isError: false });
  });

  test("the flags of the server are what arguments do not say", async () => {
    await using some = await connect(["-n", "team-z"], hub.env);
    const { document } = await some.call("status", { live: false });
    expect(document).toMatchObject({ items: [{ name: "leaky" }] });
    const other = await some.call("status", { live: false, namespace: "team-a" });
    expect(listOf(other.document).length).toBeGreaterThan(1);
  });
});

/** Starts the program, writes to it, closes its input, and returns what it said. */
async function ran(input: string) {
  const child = spawn(process.execPath, [knfleetFile, "mcp"], {
    env: { PATH: process.env["PATH"], KUBECONFIG: "/nowhere", ...compileCache },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // It may have ended before everything was written.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { exitCode: child.exitCode, stdout, stderr };
}

describe("the input", () => {
  test("that ends, ends the command", async () => {
    expect(await ran("")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  });

  test("that is no protocol is told on standard error, and nothing is answered", async () => {
    const { exitCode, stdout, stderr } = await ran('GET / HTTP/1.1\n\u001b[2J\n{"a": 1}\n');
    expect(stdout).toBe("");
    expect(stderr.match(/^error: /gm)).toHaveLength(3);
    expect(stderr).not.toContain("\u001b");
    expect(exitCode).toBe(0);
  });

  test("without an end of line is given up", async () => {
    const { exitCode, stderr } = await ran("x".repeat(5_000_000));
    expect(stderr).toContain("exceeded maximum size");
    expect(exitCode).toBe(2);
  });
});
