import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { knfCodes } from "../../../../api/knf/knf-codes.ts";
import { reasons } from "../../../../api/reasons.ts";
import {
  isCommand,
  shellWord,
  stepLine,
  withHub,
  words,
} from "../../../../cmd/kubectl/output/steps.ts";
import { createProgram, normalizedArgs, switchesOf } from "../../../../cmd/kubectl/program.ts";
import { quickenSystemClock } from "../../../support/quick-system-clock.ts";
import { component } from "../fleet-facts.ts";
import { runText } from "../run-text.ts";
import { startStubHub } from "../stub-hub.ts";

const root = join(import.meta.dirname, "../../../..");

/** The words of a command line as a POSIX shell divides them, one list for each command of a pipeline. */
function commandsIn(line: string): readonly (readonly string[])[] {
  const pipeline: string[][] = [[]];
  for (const [token] of line.matchAll(/(?:'[^']*'|\\'|[^\s'|])+|\|/g)) {
    if (token === "|") pipeline.push([]);
    else pipeline.at(-1)?.push(token.replaceAll(/'([^']*)'|\\(')/g, "$1$2"));
  }
  return pipeline;
}

// What a person would have to replace first.
const placeholder =
  /…|^(?:SPOKE|NAMESPACE|NAME|TYPE|FILE|FOLDER|CLUSTER|TOKEN)$|[=/](?:FILE|NAME|FOLDER)$/;

/** What is wrong with a line that is to be pasted. */
async function problemsOf(line: string): Promise<readonly string[]> {
  if (!isCommand(line)) return ["is no command"];
  const problems = commandsIn(line).map(async (all) => {
    const blanks = all.filter((word) => placeholder.test(word));
    if (blanks.length > 0) return [`has to be filled in: ${blanks.join(" ")}`];
    const [program, plugin, ...args] = all;
    if (program !== "kubectl" || plugin !== "knfleet") return [];
    return (await isUnderstood(args)) ? [] : ["is not understood by this program"];
  });
  return (await Promise.all(problems)).flat();
}

/** Whether this program knows the command and all of its flags. */
async function isUnderstood(args: readonly string[]): Promise<boolean> {
  let said = "";
  let isRun = args.includes("--help");
  const output = { write: (text: string) => (said += text) };
  const terminal = { args, env: {}, stdout: output, stderr: output, now: () => new Date(0) };
  const run = () => {
    isRun = true;
    return Promise.resolve(0);
  };
  const program = createProgram(terminal, run, output);
  const options = [program, ...program.commands].flatMap((one) => one.options);
  const typed = normalizedArgs(args, switchesOf(options));
  await program.parseAsync([...typed], { from: "user" }).catch((error: unknown) => {
    said += String(error);
  });
  return isRun;
}

function filesBelow(folder: string, end: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(end))
    .map((file) => join(root, folder, file));
}

// A screen may cut a line.
const isWhole = (line: string): boolean => !/…|\.\.\./.test(line);

describe("every line that is to be pasted", () => {
  test("in the golden files and in the documentation is a command that this program and a shell understand", async () => {
    const golden = filesBelow("test/golden", ".txt").filter((file) => !file.endsWith(".yaml.txt"));
    const files = [...golden, ...filesBelow("docs", ".md")];
    const lines = files.flatMap((file) =>
      Array.from(
        readFileSync(file, "utf8").matchAll(
          /^(?: *next(?: \([^)]*\))?: | {2}\d+\. (?=kubectl )| {5}(?=kubectl ))(.+)$/gm,
        ),
        ([, line = ""]) => line.trimEnd(),
      ),
    );
    const unique = [...new Set(lines)].filter(isWhole);
    expect(unique.length).toBeGreaterThan(25);
    const found = await Promise.all(unique.map(async (line) => [line, await problemsOf(line)]));
    expect(found.filter(([, problems]) => problems?.length !== 0)).toEqual([]);
  });

  test("in the source needs nothing to be filled in", () => {
    // What shows commands with names to be filled in says so.
    const elsewhere = /-entries\.ts$|\/command\.ts$|words\/causes\.ts$|program\.ts$/;
    const files = filesBelow("cmd/kubectl", ".ts").filter((file) => !elsewhere.test(file));
    const texts = files.flatMap((file) =>
      Array.from(
        readFileSync(file, "utf8").matchAll(/(["`])((?:kubectl|chmod) [^"`\n]+)\1/g),
        ([, , text = ""]) => text,
      ),
    );
    expect(texts.length).toBeGreaterThan(15);
    expect(
      texts.filter((text) => text.split(/[ "=]/).some((word) => placeholder.test(word))),
    ).toEqual([]);
  });

  test("of the catalogue is a command or a sentence, and is told as what it is", async () => {
    const steps = [...Object.values(knfCodes), ...Object.values(reasons)].map(({ next }) => next);
    const problems = await Promise.all(
      steps.map(async (step) => {
        if (isCommand(step)) return problemsOf(step);
        return /^[A-Z].*\.$/s.test(step) ? [] : [`is no sentence: ${step}`];
      }),
    );
    expect(problems.flat()).toEqual([]);
    expect(stepLine("kubectl get pods")).toBe("next: kubectl get pods");
    expect(stepLine("Renew the token.", "reachable")).toBe("hint (reachable): Renew the token.");
  });
});

describe("a command of a next step", () => {
  const broken = component({ cluster: "eu-1", ready: { status: "False", reason: "Whatever" } });

  test("keeps the flags that name the hub and the clusters, with quotes where they are needed", async () => {
    await using hub = await startStubHub([broken]);
    const { KUBECONFIG = "" } = hub.env;
    const given = [
      "--kubeconfig",
      KUBECONFIG,
      "--as",
      "somebody else",
      "--as-group",
      "a",
      "--as-group",
      "b",
      "--request-timeout",
      "9s",
    ];
    const way = ["--plugin-namespace", "with space"];
    const { stderr } = await runText(["status", "-A", "--no-live", ...given, ...way], { env: {} });
    const lines = Array.from(stderr.matchAll(/^next: (.+)$/gm), ([, line = ""]) => line);
    expect(lines.map((line) => commandsIn(line)[0]?.slice(0, 2))).toEqual([
      ["kubectl", "--kubeconfig"],
      ["kubectl", "knfleet"],
    ]);
    for (const line of lines) {
      const typed = commandsIn(line)[0] ?? [];
      expect(typed).toEqual(expect.arrayContaining(given));
      expect(line).toContain("--as 'somebody else'");
    }
    const [, walk = ""] = lines;
    expect(walk).toContain("--plugin-namespace 'with space'");
    // It can be pasted: the same hub is asked, in the same name.
    const pasted = await runText((commandsIn(walk)[0] ?? []).slice(2), { env: {} });
    expect(pasted.stdout).toContain("root cause");
  });

  test("does not repeat what the environment says, because a pasted command finds it there", async () => {
    await using hub = await startStubHub([broken]);
    const env = {
      ...hub.env,
      KNFLEET_PLUGIN_NAMESPACE: "elsewhere",
      KNFLEET_REQUEST_TIMEOUT: "9s",
    };
    const { stderr } = await runText(["status", "-A", "--no-live"], { env });
    const walk = /^next: (kubectl knfleet .+)$/m.exec(stderr)?.[1] ?? "";
    expect(walk).toMatch(/^kubectl knfleet diagnose ks\//);
  });

  test("never shows a token, and says that it is missing", async () => {
    await using hub = await startStubHub([broken]);
    const args = ["status", "-A", "--no-live", "--token", "very-secret"];
    const { stdout, stderr } = await runText(args, { env: hub.env });
    expect(`${stdout}${stderr}`).not.toContain("very-secret");
    expect(stderr).toContain("\nhint: with your --token: kubectl knfleet diagnose ks/");
    expect(stderr).not.toMatch(/^next: /m);
  });

  test("has the flags also where the command has failed", async () => {
    quickenSystemClock(10);
    await using hub = await startStubHub([broken]);
    const args = ["status", "--server", "https://127.0.0.1:1", "--as", "it's me"];
    const { stderr, exitCode } = await runText(args, { env: hub.env });
    const [line = ""] = stderr.match(/^next: .+$/m) ?? [];
    expect(line).toBe(
      String.raw`next: kubectl --server https://127.0.0.1:1 --as 'it'\''s me' cluster-info`,
    );
    expect(exitCode).toBe(2);
  });

  test.each([
    ["status"],
    ["unregister", "fleet/eu-1"],
    ["unregister", "eu-1"],
    ["kubeconfig", "fleet/eu-1"],
  ])("begins with the hub where that does not answer: %s %s", async (...args) => {
    quickenSystemClock(10);
    await using hub = await startStubHub([broken]);
    const where = ["--server", "https://127.0.0.1:1"];
    const { stderr } = await runText([...args, ...where], { env: hub.env });
    expect(stderr).toContain("error: The hub cannot be reached");
    expect(stderr).toContain(`next: kubectl ${where.join(" ")} cluster-info`);
  });

  test.each([
    ["plain-word_1.2/x:y@z%+,-", "plain-word_1.2/x:y@z%+,-"],
    ["--flag=value", "--flag=value"],
    ["two words", "'two words'"],
    ["it's", String.raw`'it'\''s'`],
    ["$(rm -rf x);`x`", "'$(rm -rf x);`x`'"],
    ["a\u001b[2Jb\nc", "'a [2Jb c'"],
    ["~/x", "'~/x'"],
    ["", "''"],
  ])("takes %j as %s", (text, shown) => {
    expect(shellWord(text)).toBe(shown);
    expect(commandsIn(words("kubectl", text))[0]?.[1] ?? "").toBe(
      text.replaceAll(/\p{Cc}+/gu, " "),
    );
  });

  test("has flags where it asks a hub, and is left alone elsewhere", () => {
    const commands = { kubectl: "kubectl --context c", knfleet: "kubectl knfleet --context c" };
    const steps = [
      ["kubectl get pods", "kubectl --context c get pods"],
      ["kubectl knfleet status -A", "kubectl knfleet --context c status -A"],
      ["kubectl knfleet explain KNF1005", "kubectl knfleet explain KNF1005"],
      ["kubectl knfleet status --help", "kubectl knfleet status --help"],
      ["kubectl knfleet status -A --bundle x", "kubectl knfleet status -A --bundle x"],
      ["kubectl config get-contexts", "kubectl config get-contexts"],
      ["Say kubectl get pods.", "Say kubectl get pods."],
    ];
    for (const [step = "", shown] of steps) expect(withHub(step, commands)).toBe(shown);
  });
});
