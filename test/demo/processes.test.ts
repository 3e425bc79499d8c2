import { tmpdir } from "node:os";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { invitation } from "./ending.ts";
import { fileNameOf, blocksOf } from "./page.ts";
import { runProgram } from "./run-program.ts";
import { openShell } from "./shell.ts";
import { until } from "./until.ts";
import { userKubeconfig } from "./user-kubeconfig.ts";

const signal = new AbortController().signal;
const options = { cwd: tmpdir(), environment: { PATH: process.env["PATH"] }, signal };
const say = (script: string): readonly string[] => ["sh", "-c", script];

describe("a program", () => {
  test("gives its exit code, its output, and both streams in order", async () => {
    const script = "echo one; sleep 0.1; echo two >&2; exit 3";
    await expect(runProgram(say(script), options)).resolves.toEqual({
      code: 3,
      stdout: "one\n",
      output: "one\ntwo\n",
    });
  });

  test("that does not exist is named", async () => {
    await expect(runProgram(["no-such-program"], options)).rejects.toThrow(/no-such-program/);
  });

  test("ends when the signal aborts, with its reason", async () => {
    const stop = new AbortController();
    const running = runProgram(say("sleep 60"), { ...options, signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
  });
});

function open(): { shell: ReturnType<typeof openShell>; told: string[] } {
  const told: string[] = [];
  const workbench = { folder: tmpdir(), environment: { PATH: process.env["PATH"], WHO: "me" } };
  const narrator = {
    command: (words: readonly string[]): void => void told.push(`$ ${words.join(" ")}`),
    output: (text: string): void => void told.push(text),
  };
  return { shell: openShell({ workbench, narrator, signal }), told };
}

describe("the shell", () => {
  test("shows the command and what it says, with the environment of the workbench", async () => {
    const { shell, told } = open();
    await shell.show(["sh", "-c", 'echo "$WHO"']);
    expect(told).toEqual(['$ sh -c echo "$WHO"', "me\n"]);
  });

  test("says nothing for a quiet command", async () => {
    const { shell, told } = open();
    await expect(shell.quiet("echo a b")).resolves.toMatchObject({ stdout: "a b\n" });
    expect(told).toEqual([]);
  });

  test("throws for an exit code that was not expected, with the output as the cause", async () => {
    const { shell } = open();
    await expect(shell.show("false", [0, 1])).resolves.toMatchObject({ code: 1 });
    const failing = shell.quiet(["sh", "-c", "echo because >&2; exit 4"]);
    await expect(failing).rejects.toMatchObject({
      message: expect.stringContaining("exit code 4"),
      cause: expect.objectContaining({ message: "because" }),
    });
  });
});

describe("waiting", () => {
  test("ends with the first answer", async () => {
    let asked = 0;
    const check = async (): Promise<number | undefined> => (++asked < 3 ? undefined : asked);
    const waiting = { what: "three", timeoutMs: 5000, signal, everyMs: 1 };
    await expect(until(check, waiting)).resolves.toBe(3);
  });

  test("says what was waited for when the time is over", async () => {
    const waiting = { what: "Godot", timeoutMs: 5, signal, everyMs: 1 };
    await expect(until(async () => undefined, waiting)).rejects.toThrow("Waited 0.005 s for Godot");
  });

  test("ends with the reason of the signal", async () => {
    const stop = new AbortController();
    const waiting = { what: "nothing", timeoutMs: 60_000, signal: stop.signal };
    const running = until(async () => undefined, waiting);
    stop.abort("enough");
    await expect(running).rejects.toBe("enough");
  });
});

function cluster(name: string): Parameters<typeof userKubeconfig>[0][number] {
  const adminIdentity = { certificatePem: "certificate", keyPem: "key" };
  return { name, server: `https://${name}`, caPem: "ca", adminIdentity };
}

test("the kubeconfig has a context for each cluster, the first one current", () => {
  expect(parse(userKubeconfig([cluster("hub"), cluster("spoke-1")]))).toMatchObject({
    "current-context": "hub",
    contexts: [
      { name: "hub", context: { cluster: "hub", user: "hub" } },
      { name: "spoke-1", context: { cluster: "spoke-1", user: "spoke-1" } },
    ],
    clusters: [{ cluster: { server: "https://hub" } }, { cluster: { server: "https://spoke-1" } }],
  });
});

test("blocks of a page have a language and may name a file", () => {
  const blocks = blocksOf("text\n```yaml\n# a.yaml\nb: 1\n```\n\n```sh\necho\n```\n");
  expect(blocks.map(({ language }) => language)).toEqual(["yaml", "sh"]);
  expect(blocks.map(fileNameOf)).toEqual(["a.yaml", undefined]);
});

test("every line of the invitation is a command, a comment or empty", () => {
  const exported = "export KUBECONFIG=/tmp/a/kubeconfig";
  const lines = invitation({ folder: "/tmp/a b", exports: [exported] });
  expect(lines[0]).toBe(exported);
  expect(lines).toContain("tail -f '/tmp/a b/controller.log'");
  expect(lines.filter((line) => !/^(?:$|# |export |kubectl |tail )/.test(line))).toEqual([]);
});
