import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { quickenSystemClock } from "../../support/quick-system-clock.ts";
import { recordedObjects } from "./recorded-hub.ts";
import { runText, type RunText } from "./run-text.ts";
import { startStubHub, type StubHub } from "./stub-hub.ts";

const utf8 = { LANG: "C.UTF-8" };

let hub: StubHub;
beforeAll(async () => {
  hub = await startStubHub(recordedObjects);
});
afterAll(() => hub[Symbol.asyncDispose]());

async function ran(args: readonly string[], options: RunText = {}) {
  const env = { ...hub.env, ...utf8, ...options.env };
  const { exitCode, stdout, stderr } = await runText(args, { ...options, env });
  return { exitCode, stdout, stderr };
}

/** Everything that one command line wrote, with its exit code, free of what differs between two runs. */
async function recorded(args: readonly string[], options: RunText = {}): Promise<string> {
  const { exitCode, stdout, stderr } = await ran(args, options);
  const text = `${stdout}--- stderr\n${stderr}--- exit code ${exitCode}\n`;
  return text
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "http://hub")
    .replaceAll(/after \d+ s/g, "after N s")
    .replaceAll(/"elapsedSeconds": \d+/g, '"elapsedSeconds": 0');
}

function golden(name: string): string {
  return join(import.meta.dirname, "../../golden/kubectl", name);
}

const lines: readonly (readonly [name: string, args: readonly string[], options: RunText])[] = [
  ["status.detail", ["status", "ke/knative-eventing"], {}],
  ["status.detail.colour", ["status", "ke/knative-eventing", "--color=always"], {}],
  ["status.detail.json", ["status", "ke/knative-eventing", "-o", "json"], {}],
  ["status.name", ["status", "-A", "--no-live", "-o", "name"], {}],
  ["status.failed", ["status", "-A", "--no-live", "--failed"], {}],
  [
    "status.sorted",
    ["status", "-A", "--no-live", "--sort-by", ".namespace", "--absolute-time"],
    {},
  ],
  ["status.ascii", ["status", "-A"], { env: { LANG: "C" } }],
  [
    "status.columns",
    ["status", "-A", "--no-live", "-o", "custom-columns=N:.name,C:.cluster.name"],
    {},
  ],
  [
    "status.jsonpath",
    ["status", "-A", "--no-live", "-o", 'jsonpath={range .items[*]}{.name}{"\\n"}{end}'],
    {},
  ],
  ["wait.failed", ["wait", "-A", "--for=ready"], {}],
  ["wait.failed.json", ["wait", "-A", "--for=ready", "-o", "json", "--sort-by=.name"], {}],
  ["events.table", ["events", "-A", "--no-live"], {}],
  [
    "events.wide",
    ["events", "-A", "--no-live", "--types", "warning", "-o", "wide", "--absolute-time"],
    {},
  ],
  ["events.json", ["events", "-A", "--no-live", "--since", "3m", "-o", "json"], {}],
  ["events.unread", ["events", "ks"], {}],
  ["explain.80-columns", ["explain"], { columns: 80 }],
  ["explain.json", ["explain", "ApplyFailed", "-o", "json"], {}],
  ["explain.text", ["explain", "KNF1005", "AccessProviderFailed"], {}],
];

describe("on a recorded hub", () => {
  test.each(lines)("%s is printed as agreed", async (name, args, options) => {
    await expect(await recorded(args, options)).toMatchFileSnapshot(golden(`${name}.txt`));
  });

  test.each([
    { args: ["--cluster", "eu-*"], names: ["team-a/knative-serving"] },
    { args: ["--cluster", "fleet/us-1"], names: ["team-b/knative-serving"] },
    { args: ["--cluster", "hub"], names: ["team-a/knative-eventing"] },
    { args: ["--on", "region=eu"], names: ["team-a/knative-serving"] },
    { args: ["--on", "tier=prod,region in (eu, us)"], names: ["team-a/knative-serving"] },
    { args: ["--on", "tier=none"], names: [] },
    { args: ["--failed"], names: ["team-a/knative-serving"] },
    { args: ["--reason", "clusterprofilenotfound"], names: ["team-a/knative-serving"] },
  ])("$args select $names", async ({ args, names }) => {
    const template = 'jsonpath={range .items[*]}{.namespace "/" .name "\\n"}{end}';
    const { stdout } = await ran(["status", "-A", "--no-live", ...args, "-o", template]);
    expect(stdout.split("\n").filter((line) => line !== "")).toEqual(names);
  });

  test("a terminal gets no control characters of others, whatever the format", async () => {
    for (const format of ["table", "wide", "custom-columns=M:.detail.events[*].message"]) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const { stdout } = await ran(["status", "ke/knative-eventing", "-o", format]);
      expect(stdout).not.toContain("\u001b");
    }
  });

  test("lines of a terminal are cut to its width, those of a pipe are not", async () => {
    const narrow = await ran(["explain"], { columns: 80, env: { TERM: "dumb" } });
    expect(Math.max(...narrow.stdout.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(
      80,
    );
    const piped = await ran(["explain"]);
    expect(piped.stdout).not.toContain("…");
  });

  const colours: readonly (RunText & { readonly colour: boolean })[] = [
    { env: {}, columns: 200, colour: true },
    { env: { NO_COLOR: "1" }, columns: 200, colour: false },
    { env: { NO_COLOR: "1", FORCE_COLOR: "1" }, columns: 200, colour: false },
    { env: { TERM: "dumb" }, columns: 200, colour: false },
    { env: {}, colour: false },
    { env: { CLICOLOR_FORCE: "1" }, colour: true },
  ];

  test.each(colours)("colour with $env in a width of $columns: $colour", async (options) => {
    const { colour } = options;
    const { stdout } = await ran(["status", "-A", "--no-live"], options);
    expect(stdout.includes("\u001b[")).toBe(colour);
  });
});

describe("the exit code is the same for every output", () => {
  const formats = [
    "table",
    "wide",
    "json",
    "yaml",
    "name",
    "jsonpath={.kind}",
    "custom-columns=A:.name",
  ];
  const cases = [
    { line: "status --no-live -n team-b", code: 0 },
    { line: "status --no-live", code: 1 },
    { line: "status --no-live --fail-on never", code: 0 },
    { line: "status --no-live ks/nothing", code: 1 },
    { line: "status -n team-b", code: 3 },
    { line: "status --timeout x", code: 2 },
    { line: "status --kubeconfig /nowhere", code: 2 },
    { line: "deployments ke", code: 0 },
    { line: "deployments ks", code: 3 },
    { line: "deployments ks/nothing", code: 1 },
    { line: "events --no-live", code: 0, nameless: true },
    { line: "events", code: 3, nameless: true },
    { line: "events ks/nothing --no-live", code: 1, nameless: true },
    { line: "explain ApplyFailed", code: 0 },
    { line: "explain Nobody", code: 1 },
  ];

  test.each(cases)("$line: $code", async ({ line, code, nameless = false }) => {
    for (const format of formats.filter((each) => !nameless || each !== "name")) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const { exitCode } = await ran([...line.split(" "), "-o", format]);
      expect([format, exitCode]).toEqual([format, code]);
    }
  });
});

describe("a hub that cannot be asked", () => {
  test.each(["json", "yaml"])("is told in a document as %s, too", async (format) => {
    // A connection that is refused is tried four times.
    quickenSystemClock(10);
    for (const command of ["status", "deployments"]) {
      const args = [command, "-s", "http://127.0.0.1:9", "--request-timeout", "5s", "-o", format];
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const { exitCode, stdout, stderr } = await ran(args);
      expect(exitCode).toBe(2);
      expect(stdout).toContain("knfleet.dev/v1");
      expect(stdout).toContain("HubUnavailable");
      expect(stderr).toMatch(/^error: The hub cannot be reached/);
    }
  });

  test.each([
    { status: 401, reason: "CredentialRejected" },
    { status: 403, reason: "Forbidden" },
    { status: 404, reason: "NotServed" },
    { status: 500, reason: "ServerError" },
  ])("because it answers $status, gives the reason $reason", async ({ status, reason }) => {
    const said = { kind: "Status", apiVersion: "v1", code: status, message: "no", reason: "x" };
    await using other = await startStubHub([], () => ({ status, body: said }));
    const { stdout, exitCode } = await runText(["status", "-o", "json"], { env: other.env });
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "FleetStatus",
      complete: false,
      summary: null,
      items: [],
      errors: [{ reason, cluster: null }],
    });
  });
});
