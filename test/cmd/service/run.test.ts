import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

const services = join(import.meta.dirname, "../../fixtures/services");

interface Running {
  readonly child: ChildProcess;
  /** Resolves when the service has written a line. */
  said(line: string): Promise<void>;
  ended(): Promise<{ code: number | null; stderr: string }>;
}

function start(behaviour: string, ...more: readonly string[]): Running {
  return run(["service.ts", behaviour, ...more]);
}

function run([file = "", ...args]: readonly string[]): Running {
  const child = spawn(process.execPath, [join(services, file), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const closed = once(child, "close");
  const out = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (out.stderr += text));
  return {
    child,
    said: async (line) => {
      while (!out.stdout.includes(`${line}\n`)) await once(child.stdout, "data");
    },
    ended: async () => {
      await closed;
      return { code: child.exitCode, stderr: out.stderr };
    },
  };
}

test.each(["SIGTERM", "SIGINT"] as const)("%s stops a service, which ends with 0", async (name) => {
  const running = start("obeys");
  await running.said("up");
  running.child.kill(name);
  await running.said("stopping");
  expect(await running.ended()).toEqual({ code: 0, stderr: "" });
});

test("a service that fails at something because it is stopped ends with 0", async () => {
  const running = start("fails-when-stopped");
  await running.said("up");
  running.child.kill("SIGTERM");
  await running.said("stopping");
  expect(await running.ended()).toEqual({ code: 0, stderr: "" });
});

test("a signal while a service starts ends it with 0", async () => {
  const running = start("waits-to-start");
  await running.said("up");
  running.child.kill("SIGTERM");
  expect(await running.ended()).toEqual({ code: 0, stderr: "" });
});

test("a service that does not start ends with 1 and one line", async () => {
  const { code, stderr } = await start("does-not-start").ended();
  expect({ code, stderr }).toEqual({ code: 1, stderr: "Error: The port is taken\n" });
});

test("a service that cannot go on is stopped and ends with 1 and one line", async () => {
  const running = start("fails");
  await running.said("stopping");
  expect(await running.ended()).toEqual({ code: 1, stderr: "Error: The Lease was lost\n" });
});

test("a second signal ends a service that hangs at once", async () => {
  const running = start("stubborn");
  await running.said("up");
  running.child.kill("SIGTERM");
  await running.said("stopping");
  running.child.kill("SIGTERM");
  expect(await running.ended()).toEqual({ code: 1, stderr: "" });
});

// Without a timer or socket of its own Node would end it with code 13.
test.each([
  { behaviour: "never-starts", what: "the start" },
  { behaviour: "stubborn-without-anything", what: "the connections" },
  { behaviour: "leaves-something", what: expect.stringContaining("Timeout") },
])(
  "a service that does not stop in time is ended with 1 and says what it waits for ($behaviour)",
  async ({ behaviour, what }) => {
    const running = start(behaviour, "500");
    await running.said("up");
    running.child.kill("SIGTERM");
    const { code, stderr } = await running.ended();
    const [, waitedFor = stderr] =
      /^Error: Not stopped within 0.5 s: waiting for (.*)\n$/.exec(stderr) ?? [];
    expect({ code, waitedFor }).toEqual({ code: 1, waitedFor: what });
  },
);

test.each([
  { behaviour: "throws", name: "RangeError" },
  { behaviour: "rejects", name: "TypeError" },
])(
  "an error that nobody caught is logged, stops the service and ends it with 1 (C22, $behaviour)",
  async ({ behaviour, name }) => {
    const running = start(behaviour);
    await running.said(`The program has a bug and ends: ${name}`);
    await running.said("stopping");
    expect(await running.ended()).toEqual({ code: 1, stderr: "" });
  },
);

test("a service that hangs after an error that nobody caught is ended all the same (C22)", async () => {
  const running = start("throws-and-hangs");
  await running.said("stopping");
  expect(await running.ended()).toEqual({ code: 1, stderr: "" });
});

test("a command that waits for something that never comes ends with 130 at the second signal", async () => {
  const running = run(["command.ts"]);
  await running.said("up");
  running.child.kill("SIGINT");
  await running.said("stopping");
  running.child.kill("SIGINT");
  expect(await running.ended()).toEqual({ code: 130, stderr: "" });
});
