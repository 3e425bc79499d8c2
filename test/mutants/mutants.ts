import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { env, exit, stderr, stdout } from "node:process";
import { parseArgs } from "node:util";

import type { Stryker } from "@stryker-mutator/core";

import { projectRoot } from "../support/needs.ts";
import judged from "./judged.json" with { type: "json" };
import { compareWithJudged, type Survivor } from "./judged.ts";
import { type Change, compilableChanges } from "./types.ts";

const usage = `Usage: npm run mutants -- PATH… [--tests PATH]… [--sample PERCENT] [--concurrency N]

Changes the source files at PATH (files or folders) in one place at a time, runs the unit tests that reach the place, and prints each change that
neither a test nor the compiler notices. Texts and the constants of a module are not changed.
  --tests PATH      only the unit tests at PATH; default: all that import the files, which takes longer
  --sample PERCENT  only this share of the changes, chosen by a hash: the same ones each time
  --seed TEXT       another sample of that size, default 1
  --concurrency N   runs of tests at a time, default 2
Survivors that no test can or need notice are listed with a reason in test/mutants/judged.json, and are left out.
Exit code 1 when an entry of that list does not survive any more.
`;

type MutantResult = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

interface Options {
  readonly paths: readonly string[];
  readonly tests: readonly string[];
  readonly sample: number;
  readonly seed: string;
  readonly concurrency: number;
}

exit(await main());

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2));
  if (typeof options === "number") return options;
  env["KNFLEET_MUTANTS_TESTS"] = options.tests.join(",");
  env["KNFLEET_MUTANTS_SAMPLE"] = String(options.sample);
  env["KNFLEET_MUTANTS_SEED"] = options.seed;
  const folder = mkdtempSync(join(tmpdir(), "knfleet-mutants-"));
  try {
    const results = await resultsOf(options, folder);
    return results === undefined ? 1 : report(results, options, join(folder, "types"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function optionsOf(args: string[]): Options | number {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h" },
        tests: { type: "string", multiple: true, default: ["test"] },
        sample: { type: "string", default: "100" },
        seed: { type: "string", default: "1" },
        concurrency: { type: "string", default: "2" },
      },
    });
    if (values.help === true) {
      stdout.write(usage);
      return 0;
    }
    if (positionals.length === 0) throw new Error("Name the files or folders to change");
    const concurrency = Number(values.concurrency);
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new Error(`--concurrency must be a whole number from 1 (is ${values.concurrency})`);
    }
    const sample = Number(values.sample);
    if (!(sample > 0 && sample <= 100)) {
      throw new Error(`--sample must be a percentage above 0 (is ${values.sample})`);
    }
    return {
      paths: positionals.map(pathInProject),
      tests: values.tests.map(pathInProject),
      sample,
      seed: values.seed,
      concurrency,
    };
  } catch (error) {
    stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return 2;
  }
}

/** The path of an existing file or folder, from the root of the project. */
function pathInProject(path: string): string {
  const absolute = resolve(path);
  if (!existsSync(absolute)) throw new Error(`${path} does not exist`);
  return relative(projectRoot, absolute);
}

/** Undefined when the tests fail without any change, or no file can be changed; StrykerJS has printed why. */
async function resultsOf(
  { paths, sample, concurrency }: Options,
  folder: string,
): Promise<MutantResult[] | undefined> {
  const patterns = paths.map((path) =>
    statSync(join(projectRoot, path)).isDirectory() ? `${path}/**/*.ts` : path,
  );
  process.chdir(projectRoot);
  const { Stryker: Mutation } = await import("@stryker-mutator/core");
  const mutation = new Mutation({
    mutate: patterns,
    concurrency,
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner", join(import.meta.dirname, "sample.ts")],
    checkers: sample < 100 ? ["sample"] : [],
    vitest: { configFile: "test/mutants/vitest.config.ts" },
    coverageAnalysis: "perTest",
    // A room with many slow tests needs more than the usual five on a busy machine.
    dryRunTimeoutMinutes: 30,
    // What users read is not compared word by word, and each of a module's constants needs a run of all tests.
    mutator: { excludedMutations: ["StringLiteral"] },
    ignoreStatic: true,
    // Stryker rewrites a tsconfig with functions that TypeScript 7 does not have; without the file it does nothing.
    tsconfigFile: "no-tsconfig.json",
    disableTypeChecks: false,
    tempDirName: join(folder, "tests"),
    ignorePatterns: ["dist", "dist-executable", "releases"],
    reporters: ["progress-append-only"],
  });
  try {
    return await mutation.runMutationTest();
  } catch {
    return undefined;
  }
}

function report(results: readonly MutantResult[], { sample }: Options, folder: string): number {
  const killed = results.filter(({ status }) => status === "Killed");
  const timedOut = results.filter(({ status }) => status === "Timeout");
  const unseen = results.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  const missed = compilableChanges(unseen.map(survivorOf), folder);
  const byTypes = unseen.length - missed.length;
  // A sample does not tell whether another change survives.
  const whole = sample < 100 ? [] : results;
  const files = new Set(whole.map(({ fileName }) => relative(projectRoot, resolve(fileName))));
  const { open, outdated } = compareWithJudged(missed, judged, files);
  for (const { file, lineNumber, line, change } of open) {
    stdout.write(`${file}:${lineNumber}\n  ${line}\n  ${change}\n`);
  }
  for (const { file, line, change } of outdated) {
    stderr.write(`Error: remove from test/mutants/judged.json: ${file}\n  ${line}\n  ${change}\n`);
  }
  const found = killed.length + timedOut.length + byTypes;
  const share = (100 * found) / Math.max(1, found + open.length);
  stdout.write(
    `${found} of ${found + open.length} changes found (${share.toFixed(1)} %; ${killed.length} by tests, ${timedOut.length} by time-outs, ${byTypes} by the compiler), ${missed.length - open.length} judged\n`,
  );
  return outdated.length === 0 ? 0 : 1;
}

function survivorOf({
  fileName,
  location: { start, end },
  replacement,
}: MutantResult): Survivor & Change {
  const text = readFileSync(resolve(fileName), "utf8");
  // Lines and columns count from 1.
  const lines = text.split("\n");
  const offsetOf = ({ line, column }: typeof start): number =>
    lines.slice(0, line - 1).join("\n").length + (line === 1 ? 0 : 1) + column - 1;
  const [from, to] = [offsetOf(start), offsetOf(end)];
  return {
    file: relative(projectRoot, resolve(fileName)),
    lineNumber: start.line,
    line: (lines[start.line - 1] ?? "").trim(),
    change: `${inOneLine(text.slice(from, to))} → ${inOneLine(replacement)}`,
    text: `${text.slice(0, from)}${replacement}${text.slice(to)}`,
  };
}

function inOneLine(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}
