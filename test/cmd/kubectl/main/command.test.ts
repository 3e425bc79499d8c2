import { describe, expect, test } from "vitest";

import type { ActionInput } from "../../../../cmd/kubectl/action.ts";
import { readFlags } from "../../../../cmd/kubectl/flags.ts";
import {
  forTools,
  noLiveFlag,
  parsed,
  repeated,
  toggle,
  worded,
} from "../../../../cmd/kubectl/main/command-flags.ts";
import { command, installationNames } from "../../../../cmd/kubectl/main/command.ts";
import type { Report } from "../../../../cmd/kubectl/main/report.ts";
import { parseDurationMs } from "../../../../cmd/kubectl/output/duration.ts";
import { now } from "../fleet-facts.ts";

interface Item {
  readonly name: string;
}

const found: Report<Item> = { items: [], summary: {}, errors: [] };

/** A command that tells the values of its flags, and reports what it is given. */
function sample(report: Report<Item> = found, tell: (values: unknown) => void = () => undefined) {
  return command({
    name: "sample",
    args: installationNames,
    summary: "Show a sample",
    text: "A sample.",
    examples: [],
    options: {
      since: forTools(parsed("--since <duration>", "not older", parseDurationMs), "Age", 20),
      names: repeated("--of <name>", "of these"),
      all: forTools(toggle("--all", "all of them")),
      secret: worded("--file <path>", "a file of this machine"),
      live: noLiveFlag(),
    },
    document: "SampleList",
    tool: ["namespace"],
    run: (_, values) => {
      tell(values);
      return Promise.resolve(report);
    },
  });
}

/** What a report prints, and its exit code. */
async function ran(report: Report<Item>, output = "table") {
  const written = { stdout: "", stderr: "" };
  const terminal = {
    args: [],
    env: {},
    stdout: { write: (text: string) => (written.stdout += text) },
    stderr: { write: (text: string) => (written.stderr += text) },
    now: () => now,
  };
  const input: ActionInput<object> = {
    args: [],
    options: {},
    flags: readFlags({ output }, {}),
    terminal,
  };
  const action = await sample(report).load();
  const exitCode = await action(input, new AbortController().signal);
  return { ...written, exitCode };
}

describe("a declared command", () => {
  test("has its flags for the parser, and those of them for tools that are meant for them", () => {
    const { options, tool, completes, readsBundles } = sample();
    expect(options.map(({ flags }) => flags)).toEqual([
      "--since <duration>",
      "--of <name>",
      "--all",
      "--file <path>",
      "--no-live",
    ]);
    expect(Object.keys(tool?.properties ?? {})).toEqual([
      "names",
      "namespace",
      "since",
      "all",
      "live",
    ]);
    expect(tool?.properties).toMatchObject({
      since: { type: "string", maxLength: 20, description: "Age" },
      all: { type: "boolean", description: "all of them" },
    });
    expect({ completes, readsBundles }).toEqual({ completes: "installations", readsBundles: true });
  });

  test.each([
    [{}, { since: undefined, names: [], all: false, secret: undefined, live: true }],
    [
      { since: "2m", of: ["a", "b"], all: true, file: "x", live: false },
      { since: 120_000, names: ["a", "b"], all: true, secret: "x", live: false },
    ],
  ])("gets of %j the values %j", async (options, values) => {
    const told: unknown[] = [];
    const action = await sample(found, (one) => told.push(one)).load();
    const silent = { write: () => true };
    const terminal = { args: [], env: {}, stdout: silent, stderr: silent, now: () => now };
    const input = { args: [], options, flags: readFlags({}, {}), terminal };
    await action(input, new AbortController().signal);
    expect(told).toEqual([values]);
  });

  test("refuses a value that has no meaning, with the name of the flag", async () => {
    const action = await sample().load();
    const silent = { write: () => true };
    const terminal = { args: [], env: {}, stdout: silent, stderr: silent, now: () => now };
    const input = { args: [], options: { since: "soon" }, flags: readFlags({}, {}), terminal };
    await expect(action(input, new AbortController().signal)).rejects.toThrow(
      'Invalid value "soon" for --since',
    );
  });
});

const unread = { reason: "Unreachable", message: "no route", cluster: "fleet/eu-1" } as const;
const missing = { reason: "NotFound", message: 'ks "a" not found', cluster: null } as const;

describe("a report", () => {
  test.each([
    ["without errors", [], 0, true],
    ["with a cluster that could not be read", [unread], 3, false],
    ["with a name that does not exist", [missing], 1, true],
    ["with both", [missing, unread], 1, false],
  ])("%s has the exit code and `complete` that follow", async (_, errors, exitCode, complete) => {
    const { stdout, ...rest } = await ran({ ...found, errors }, "json");
    expect(rest).toEqual({ stderr: "", exitCode });
    expect(JSON.parse(stdout)).toMatchObject({ kind: "SampleList", complete, items: [] });
  });

  test("has its own notes above the errors, and what to do below them", async () => {
    const summary = { clusters: 2, unread: 1 };
    const report = {
      ...found,
      summary,
      errors: [unread],
      notes: () => ["above"],
      next: () => ["below"],
    };
    const { stderr } = await ran(report);
    expect(stderr.split("\n").filter((line) => line !== "")).toEqual([
      "above",
      "1 of 2 clusters could not be read:",
      expect.stringMatching(/^ {2}fleet\/eu-1: KNF\d+ Unreachable: no route$/),
      "next: kubectl knfleet diagnose fleet/eu-1",
      "below",
    ]);
  });

  test("that comes with a failure is printed before the command fails with it", async () => {
    const failure = new Error("the hub is gone");
    const report = { ...found, heading: () => "Client Version: 1\n", failure };
    await expect(ran(report)).rejects.toThrow("the hub is gone");
    expect(failure).toHaveProperty("isPrinted", true);
  });

  test("has a name for -o name where an item has one", async () => {
    const items = [{ name: "a" }, { name: "" }];
    const report: Report<Item> = {
      ...found,
      items,
      name: (item) => (item.name === "" ? undefined : `ks/${item.name}`),
    };
    expect(await ran(report, "name")).toMatchObject({ stdout: "ks/a\n" });
  });
});
