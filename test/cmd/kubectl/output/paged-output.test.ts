import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { runCli } from "../../../../cmd/kubectl/cli.ts";
import { showInPager } from "../../../../cmd/kubectl/output/pager.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { startStubHub } from "../stub-hub.ts";

interface Ran {
  readonly exitCode: number;
  readonly written: string;
  readonly paged: readonly string[];
}

interface Reader {
  readonly isTTY?: boolean;
  readonly starts?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command line with somebody in front of a terminal who has a pager, or one that does not start. */
async function ran(
  args: readonly string[],
  { isTTY = true, starts = true, env = {} }: Reader = {},
): Promise<Ran> {
  let written = "";
  const paged: string[] = [];
  const terminal = {
    args,
    env,
    stdout: { isTTY, columns: 80, write: (text: string) => (written += text) },
    stderr: { write: () => true },
    now: () => new Date(),
    page: (text: string) => {
      if (starts) paged.push(text);
      return Promise.resolve(starts);
    },
  };
  const exitCode = await runCli(terminal, AbortSignal.timeout(60_000));
  return { exitCode, written, paged };
}

describe("a pager shows", () => {
  test.each([
    { args: ["explain", "ApplyFailed"], says: "ApplyFailed" },
    { args: ["status", "--help"], says: "Exit codes:" },
    { args: ["--help"], says: "Commands:" },
    { args: ["help", "wait"], says: "--for" },
  ])("what $args prints on a terminal, at once", async ({ args, says }) => {
    const { written, paged, exitCode } = await ran(args);
    expect(paged).toHaveLength(1);
    expect(paged[0]).toContain(says);
    expect({ written, exitCode }).toEqual({ written: "", exitCode: 0 });
  });

  test("the walk to one object, and no others, tables or documents", async () => {
    await using hub = await startStubHub(recordedObjects);
    const on = async (...args: readonly string[]) => {
      const { paged } = await ran(args, { env: hub.env });
      return paged.length;
    };
    expect(await on("diagnose", "ke/knative-eventing")).toBe(1);
    expect(await on("diagnose", "ke/knative-eventing", "-o", "json")).toBe(0);
    expect(await on("diagnose", "-A")).toBe(0);
    expect(await on("status", "-A", "--no-live")).toBe(0);
    expect(await on("explain", "ApplyFailed", "-o", "yaml")).toBe(0);
  });

  test("nothing without a terminal, and nothing is lost when it does not start", async () => {
    const piped = await ran(["explain", "ApplyFailed"], { isTTY: false });
    const broken = await ran(["explain", "ApplyFailed"], { starts: false });
    expect(piped.paged).toEqual([]);
    expect(piped.written).toContain("ApplyFailed");
    expect(broken.written).toContain("ApplyFailed");
  });
});

describe("the pager", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "knfleet-pager-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const path = process.env["PATH"] ?? "";

  test("is the program that the environment names, with its arguments", async () => {
    const file = join(folder, "shown");
    const env = { PATH: path, PAGER: "false", KNFLEET_PAGER: `cat > '${file}'` };
    expect(await showInPager("a text\n", env)).toBe(true);
    expect(await readFile(file, "utf8")).toBe("a text\n");
  });

  test("may be left before its end", async () => {
    const env = { PATH: path, PAGER: "true" };
    expect(await showInPager("a line\n".repeat(200_000), env)).toBe(true);
  });

  test.each([
    { PAGER: "" },
    { PAGER: "cat" },
    { PAGER: "less", TERM: "dumb" },
    { PAGER: "no-such-program-anywhere 2> /dev/null" },
  ])("is not there with %j", async (env) => {
    expect(await showInPager("a text\n", { PATH: path, ...env })).toBe(false);
  });
});
