import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { env } from "node:process";

import type { Reporter, SerializedError, TestModule, Vitest } from "vitest/node";

import { listAt, recordAt, textAt } from "../../api/fields.ts";
import { failureOf, firstLineOf } from "./progress-reporter.ts";

/** More files than these are no accident of a busy machine. */
const most = 6;

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The number of skipped tests that were left out, by what they need and by their file. */
  readonly leftOut: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** A test file on real clusters that failed, and how: one line for each of its tests that did. */
interface Failure {
  readonly file: string;
  readonly lines: readonly string[];
}

/**
 * Prints the count of all tests as one plain line at the end, for CI and for people who skim, and above it for each need that is not met
 * (test/support/needs.ts) the number of tests that were left out for it, with their files. Where KNFLEET_TEST_RECORD names a file, a run
 * writes its counts there, and which test files on real clusters are worth another run; the next run adds these counts to its own, and names what
 * passed only when it was tried again. With KNFLEET_TESTS_FOLLOW the count is one so far.
 */
export default class CountReporter implements Reporter {
  /** What tests need and this machine lacks: the description by the name of the tag. */
  #unmet: ReadonlyMap<string, string> = new Map();

  onInit(vitest: Vitest): void {
    const unmet = vitest.config.tags.filter(({ skip }) => skip === true);
    this.#unmet = new Map(unmet.map(({ name, description = name }) => [name, description]));
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const path = env["KNFLEET_TEST_RECORD"];
    const earlier = path !== undefined && existsSync(path) ? recordIn(path) : undefined;
    if (path !== undefined) {
      const failures = unhandled.length === 0 ? worthTryingAgain(modules) : [];
      const files = failures.map(({ file }) => file);
      const others = modules.filter(({ relativeModuleId: id }) => !files.includes(id));
      const counts = this.#count(others, earlier?.others);
      writeFileSync(path, JSON.stringify({ files, failures, others: counts }));
    }
    if (earlier !== undefined) tellSecondTry(earlier.failures, modules);
    const counts = this.#count(modules, earlier?.others);
    const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
    const line = `${counts.passed} passed, ${counts.failed} failed${skipped}\n`;
    const leftOut = Object.entries(counts.leftOut).map(told).join("");
    const text = env["KNFLEET_TESTS_FOLLOW"] === "1" ? `So far: ${line}` : `${leftOut}${line}`;
    process.stdout.write(`\n${text}`);
  }

  #count(modules: readonly TestModule[], others?: Counts): Counts {
    const counts = { passed: 0, failed: 0, skipped: 0, ...others };
    const leftOut: Record<string, Record<string, number>> = structuredClone({ ...others?.leftOut });
    for (const test of modules.flatMap(({ children }) => [...children.allTests()])) {
      const { state } = test.result();
      if (state === "passed" || state === "failed") counts[state] += 1;
      else counts.skipped += 1;
      const need = test.tags.map((tag) => this.#unmet.get(tag)).find((one) => one !== undefined);
      if (need === undefined) continue;
      const files = (leftOut[need] ??= {});
      const file = test.module.relativeModuleId;
      files[file] = (files[file] ?? 0) + 1;
    }
    return { ...counts, leftOut };
  }
}

/** `3 tests need files, which are not here`, and a line for each test file. */
function told([need, files]: readonly [string, Readonly<Record<string, number>>]): string {
  const counts = Object.entries(files);
  const sum = counts.reduce((total, [, count]) => total + count, 0);
  const inOrder = counts.toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = inOrder.map(([file, count]) => `  ${count} in ${file}\n`);
  return `${sum} ${sum === 1 ? "test needs" : "tests need"} ${need}\n${lines.join("")}`;
}

function tellSecondTry(failures: readonly Failure[], modules: readonly TestModule[]): void {
  for (const { file, lines } of failures) {
    const module = modules.find(({ relativeModuleId }) => relativeModuleId === file);
    const now = module?.state() === "passed" ? "Passed only when tried again" : "Failed twice";
    process.stdout.write(lines.map((line) => `${now}: ${file}${line}\n`).join(""));
  }
}

/** The failed files when all of them run on real clusters and are few; else none, because that is no accident. */
function worthTryingAgain(modules: readonly TestModule[]): readonly Failure[] {
  const failed = modules.filter((module) => module.state() === "failed");
  const isAccident =
    failed.length <= most && failed.every(({ project }) => project.name === "fleet");
  return isAccident ? failed.map(failureIn) : [];
}

function failureIn(module: TestModule): Failure {
  const tests = [...module.children.allTests("failed")].map(failureOf);
  const others = module.errors().map((error) => `: ${firstLineOf(error.message)}`);
  const lines = [...tests, ...others];
  // What fails in beforeAll fails no test and no module, but the suite.
  return { file: module.relativeModuleId, lines: lines.length === 0 ? [""] : lines };
}

function recordIn(path: string): { failures: readonly Failure[]; others: Counts } {
  const record: unknown = JSON.parse(readFileSync(path, "utf8"));
  const counts = recordAt(record, "others");
  const failures = listAt(recordAt(record), "failures").map((failure) => {
    const lines = listAt(recordAt(failure), "lines").map(String);
    return { file: textAt(recordAt(failure), "file") ?? "", lines };
  });
  const numberOf = (key: keyof Counts): number => Number(counts[key] ?? 0);
  const others = {
    passed: numberOf("passed"),
    failed: numberOf("failed"),
    skipped: numberOf("skipped"),
    leftOut: Object.fromEntries(
      Object.entries(recordAt(counts, "leftOut")).map(([need, files]) => [need, numbersIn(files)]),
    ),
  };
  return { failures, others };
}

function numbersIn(record: unknown): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(recordAt(record)).map(([name, value]) => [name, Number(value)]),
  );
}
