import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { runCli } from "../../../../../cmd/kubectl/cli.ts";
import { now } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";
import { loggedAnswers, loggedToken, loggingObjects } from "./recorded-logs.ts";

let hub: StubHub;
beforeAll(async () => {
  hub = await startStubHub(loggingObjects, loggedAnswers);
});
afterAll(() => hub[Symbol.asyncDispose]());

function ran(...args: readonly string[]) {
  return runText(["logs", ...args], { env: { ...hub.env, LANG: "C.UTF-8" } });
}

function golden(name: string): string {
  return join(import.meta.dirname, "../../../../golden/kubectl", name);
}

describe("logs", () => {
  test.each([
    { file: "logs.table.txt", args: ["ke/knative-eventing", "--container=main"] },
    { file: "logs.hub.txt", args: ["-A", "--no-live", "--timestamps"] },
    { file: "logs.unread.txt", args: ["ks"] },
    { file: "logs.json.txt", args: ["ke", "--tail", "1", "-o", "json"] },
  ])("$args are printed as agreed", async ({ file, args }) => {
    const { exitCode, stdout, stderr } = await ran(...args);
    const text = `${stdout}--- stderr\n${stderr}--- exit code ${exitCode}\n`;
    await expect(text).toMatchFileSnapshot(golden(file));
  });

  test("of the controllers are those about the installation and no others", async () => {
    const { stdout } = await ran("ke/knative-eventing", "--no-live");
    expect(stdout.match(/knfleet-controller/g)).toHaveLength(2);
    expect(stdout.match(/knative-operator/g)).toHaveLength(1);
    expect(stdout).not.toMatch(/another one|of Serving|health|"b\/c"/);
  });

  test("hold neither control characters nor tokens", async () => {
    for (const format of ["table", "json", "yaml"]) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const { stdout } = await ran("ke", "-o", format);
      expect(stdout).not.toContain("\u001b");
      expect(stdout).not.toContain(loggedToken);
      expect(stdout).toContain("I am");
    }
  });

  test("of a pod that no node has yet are empty", async () => {
    await using waiting = await startStubHub(loggingObjects, (request) =>
      request.path.endsWith("/log") ? { status: 204, body: "" } : loggedAnswers(request),
    );
    const { exitCode, stdout, stderr } = await runText(["logs", "ke"], { env: waiting.env });
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "No log lines found.\n",
    });
  });

  const unreachable =
    'Get "https://10.0.0.1:10250/containerLogs/a/b/c": dial tcp 10.0.0.1:10250: connect: connection refused';
  test.each([
    { name: "a node that nobody reaches", code: 500, message: unreachable },
    { name: "a node that has no address", code: 500, message: "no preferred addresses found" },
    { name: "a node that is gone", code: 404, message: 'nodes "n1" not found' },
    {
      name: "a kubelet that is overloaded",
      code: 503,
      message: "the server is currently unable to handle the request ( pods/log x1)",
    },
  ])("of $name are missing through no fault of the API server", async ({ code, message }) => {
    const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, message };
    await using silent = await startStubHub(loggingObjects, (request) =>
      request.path.endsWith("/log") ? { status: code, body } : loggedAnswers(request),
    );
    const { exitCode, stdout, stderr } = await runText(["logs", "ke", "--no-live"], {
      env: silent.env,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toContain(
      `<hub>: LogUnavailable: team-a/eventing-controller-7c9f-x1 main: ${message}`,
    );
    expect(stderr).toMatch(/^hint: Look whether the nodes of these pods run/m);
    expect(stderr).not.toMatch(/KNF|diagnose/);
  });

  test("of a container that waits for its image are missing, and the pod is named as the place to look", async () => {
    const message = 'container "main" in pod "x1" is waiting to start: ImagePullBackOff';
    const body = { kind: "Status", apiVersion: "v1", status: "Failure", code: 400, message };
    await using waiting = await startStubHub(loggingObjects, (request) =>
      request.path.endsWith("/log") ? { status: 400, body } : loggedAnswers(request),
    );
    const { exitCode, stderr } = await runText(["logs", "ke", "--no-live"], { env: waiting.env });
    expect(exitCode).toBe(3);
    expect(stderr).toContain(
      `<hub>: NotStarted: team-a/eventing-controller-7c9f-x1 main: ${message}`,
    );
    expect(stderr).toMatch(
      /^hint: The container has not started: .* kubectl knfleet deployments\.$/m,
    );
    expect(stderr).not.toMatch(/KNF|diagnose|kubelets/);
  });

  test("of a pod that was just deleted are no failure", async () => {
    const message = 'pods "eventing-controller-7c9f-x1" not found';
    const body = { kind: "Status", apiVersion: "v1", status: "Failure", code: 404, message };
    await using gone = await startStubHub(loggingObjects, (request) =>
      request.path.endsWith("/log") ? { status: 404, body } : loggedAnswers(request),
    );
    const { exitCode, stderr } = await runText(["logs", "ke", "--no-live"], { env: gone.env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "No log lines found.\n" });
  });

  test.each([
    { name: "a proxy answers in place of the API server", status: 502, body: "bad gateway" },
    ...["etcdserver: request timed out", "the server is shutting down"].map((message, at) => ({
      name: `an API server is sick (${message})`,
      status: at === 0 ? 500 : 503,
      body: { kind: "Status", apiVersion: "v1", code: at === 0 ? 500 : 503, message },
    })),
    {
      name: "the log may not be read",
      status: 403,
      body: { kind: "Status", apiVersion: "v1", code: 403, message: "pods/log is forbidden" },
    },
  ])("where $name keep their reason", async ({ status, body }) => {
    await using other = await startStubHub(loggingObjects, (request) =>
      request.path.endsWith("/log") ? { status, body } : loggedAnswers(request),
    );
    const { stderr } = await runText(["logs", "ke", "--no-live"], { env: other.env });
    expect(stderr).toMatch(status === 403 ? /KNF1003 Forbidden/ : /KNF1001 ServerError/);
    expect(stderr).not.toContain("kubelets");
  });

  test.each([
    { args: ["--tail", "x"], says: "--tail" },
    { args: ["--max-streams", "0"], says: "--max-streams" },
    { args: ["--since", "x"], says: "--since" },
    { args: ["-f", "-o", "name"], says: "With -f" },
    { args: ["-f", "--sort-by", ".line"], says: "With -f" },
  ])("$args is a mistake that is explained", async ({ args, says }) => {
    const { exitCode, stdout, stderr } = await ran(...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(says);
  });

  test("with -f begin with the last lines about the installation", async () => {
    const stop = new AbortController();
    let stdout = "";
    const terminal = {
      args: ["logs", "ke", "--no-live", "--container=controller", "-f", "--tail=1"],
      env: hub.env,
      stdout: {
        write: (text: string) => {
          stdout += text;
          if (stdout.includes("12:00:01.234")) stop.abort();
        },
      },
      stderr: { write: () => true },
      now: () => now,
    };
    expect(await runCli(terminal, stop.signal)).toBe(130);
    expect(stdout).toMatch(/^<hub> knfleet-controller-7c9f-x1 controller 12:00:01\.234 [^\n]*\n$/);
  });

  test("of more containers than --max-streams are incomplete, and say so", async () => {
    const { exitCode, stdout } = await ran("ke", "--max-streams", "3", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      complete: false,
      summary: { streams: 3 },
      errors: [{ reason: "StreamLimit", message: expect.stringContaining("1 more containers") }],
    });
    expect(exitCode).toBe(3);
  });

  test("of a name that does not exist exit with 1", async () => {
    expect(await ran("ks/nothing")).toMatchObject({ exitCode: 1 });
    expect(await ran("ks/nothing", "-f")).toMatchObject({ exitCode: 1 });
  });
});
