import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { compileCache } from "../../../../support/compile-cache.ts";
import { recordedObjects } from "../../recorded-hub.ts";
import { knfleetFile } from "../../run-knfleet.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";

// Node opens no terminals. What is on every Linux does; elsewhere run-screen.test.ts has to do.
const asked = spawnSync("script", ["--version"], { encoding: "utf8" });
const isThere = asked.status === 0 && asked.stdout.includes("util-linux");

let hub: StubHub;
beforeAll(async () => {
  const later = { status: 503, body: { kind: "Status", apiVersion: "v1", code: 503 } };
  hub = await startStubHub(recordedObjects, ({ query }) =>
    query?.has("watch") === true ? later : undefined,
  );
});
afterAll(() => hub[Symbol.asyncDispose]());

const enter = "\u001b[?1049h";
const leave = "\u001b[?1049l";

/** Who sits in front of the terminal. */
interface User {
  readonly type: (text: string) => void;
  /** Waits for something on the screen, or for what moves and paints. */
  readonly sees: (wanted: RegExp) => Promise<void>;
  /** Process of `top`. */
  readonly pid: number;
}

/** Runs `top` in a terminal of its own, and does something once the screen is there; everything that the terminal got, and the exit code. */
async function inTerminal(then: (user: User) => void | Promise<void>, columns = 100) {
  const top = `"${process.execPath}" "${knfleetFile}" top -A --no-live`;
  const shell = `sh -c 'echo "pid=$$="; exec ${top}'`;
  const line = `stty rows 24 cols ${columns}; ${shell}; echo "code=$?="; stty -a`;
  const { PATH = "" } = process.env;
  const child = spawn("script", ["-qfec", line, "/dev/null"], {
    env: { PATH, TERM: "xterm", LANG: "C.UTF-8", SHELL: "/bin/sh", ...compileCache, ...hub.env },
    stdio: ["pipe", "pipe", "inherit"],
    timeout: 120_000,
  });
  let written = "";
  child.stdout.on("data", (part: Buffer) => (written += part.toString("utf8")));
  const sees = (wanted: RegExp) =>
    vi.waitFor(() => expect(written + stripVTControlCharacters(written)).toMatch(wanted), {
      timeout: 100_000,
    });
  try {
    await sees(/3 installations: 2 healthy, 1 not healthy\./);
    // Before the keys are read a terminal takes Ctrl-C and Ctrl-Z for itself, and for all that runs in it.
    child.stdin.write("j");
    await sees(/> team-a +knative-eventing/);
    const [, pid] = /pid=(\d+)=/.exec(written) ?? [];
    await then({ type: (text) => child.stdin.write(text), sees, pid: Number(pid) });
    await once(child, "close");
  } finally {
    child.kill("SIGKILL");
  }
  const [, code] = /code=(\d+)=/.exec(written) ?? [];
  return { written, code: Number(code) };
}

describe.runIf(isThere)("in a terminal", () => {
  test.each([
    { name: "q", typed: "q", code: 0 },
    { name: "Ctrl-C", typed: "\u0003", code: 130 },
    { name: "Ctrl-C behind other keys", typed: "jkd\u001b[A\u0003", code: 130 },
    { name: "q after Ctrl-L", typed: "\u000cq", code: 0 },
  ])("$name ends it with code $code, and the terminal is as it was", async ({ typed, code }) => {
    const ran = await inTerminal(({ type }) => type(typed));
    expect(ran.code).toBe(code);
    expectRestored(ran.written);
  });

  test.each([
    { signal: "SIGTERM", code: 130 },
    { signal: "SIGHUP", code: 129 },
  ] as const)("$signal ends it, and the terminal is as it was", async ({ signal, code }) => {
    const ran = await inTerminal(({ pid }) => void process.kill(pid, signal));
    expect(ran.code).toBe(code);
    expectRestored(ran.written);
  });

  test("d shows the root cause and its steps on 80 columns and 24 rows, without scrolling", async () => {
    const ran = await inTerminal(async ({ type, sees }) => {
      type("d");
      await sees(/root cause: KNF\d{4}/);
      await sees(/more: kubectl knfleet explain KNF\d{4}/);
      type("q");
    }, 80);
    expect(ran.code).toBe(0);
  });

  test("Ctrl-Z where no shell could go on with it does not stop it for good", async () => {
    const ran = await inTerminal(async ({ type, sees }) => {
      type("\u001a");
      // oxlint-disable-next-line no-control-regex -- the screen comes back
      await sees(/\u001b\[\?1049l[^]*\u001b\[\?1049h/);
      type("q");
    });
    expect(ran.code).toBe(0);
    expectRestored(ran.written);
  });
});

function expectRestored(written: string): void {
  expect(written.split(enter).length).toBe(written.split(leave).length);
  const after = written.slice(written.lastIndexOf(leave));
  expect(after).toContain("\u001b[?25h");
  expect(after).toMatch(/ icanon/);
  expect(after).toMatch(/ echo /);
}
