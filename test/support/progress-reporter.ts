import type { Reporter, TestCase, TestModule, TestSpecification, TestSuite } from "vitest/node";

interface Options {
  /** How long the run may say nothing of how far it is. */
  readonly everyMs?: number;
  /** A terminal shows how far the run is by itself. */
  readonly isTerminal?: boolean;
  /** A test that takes as long is slow. */
  readonly slowMs?: number;
  /** The same on real clusters. */
  readonly slowOnFleetMs?: number;
}

const mostSlow = 10;

/**
 * Tells of each failure when it happens, in one line, and now and then how far the run is: whoever reads a log of CI need not wait for the end. At the end it names the slowest tests. They
 * fail nothing, because a busy machine makes every test slow: who reads it sees what has come to wait.
 */
export default class ProgressReporter implements Reporter {
  readonly #everyMs: number;
  readonly #isTerminal: boolean;
  #timer: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #allFiles = 0;
  #files = 0;
  #tests = 0;
  #failed = 0;
  readonly #slowMs: number;
  readonly #slowOnFleetMs: number;
  readonly #slow: { readonly ms: number; readonly test: string }[] = [];

  constructor({
    everyMs = 30_000,
    isTerminal = process.stdout.isTTY,
    slowMs = 2_000,
    slowOnFleetMs = 15_000,
  }: Options = {}) {
    this.#everyMs = everyMs;
    this.#isTerminal = isTerminal;
    this.#slowMs = slowMs;
    this.#slowOnFleetMs = slowOnFleetMs;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#startedAt = performance.now();
    this.#allFiles = specifications.length;
    if (this.#isTerminal) return;
    this.#timer = setInterval(() => say(this.#progress()), this.#everyMs).unref();
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state !== "skipped") this.#tests += 1;
    this.#noteTime(test);
    if (state !== "failed") return;
    this.#failed += 1;
    say(`Failed: ${test.module.relativeModuleId}${failureOf(test)}`);
  }

  // What fails in beforeAll fails the suite, and no test.
  onTestSuiteResult(suite: TestSuite): void {
    for (const { message } of suite.errors()) {
      say(`Failed: ${suite.module.relativeModuleId} > ${suite.fullName}: ${firstLineOf(message)}`);
    }
  }

  onTestModuleEnd(module: TestModule): void {
    this.#files += 1;
    for (const { message } of module.errors()) {
      say(`Failed: ${module.relativeModuleId}: ${firstLineOf(message)}`);
    }
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
    if (this.#slow.length === 0) return;
    const [usual, onFleet] = [this.#slowMs, this.#slowOnFleetMs].map(secondsOf);
    const count = `${this.#slow.length} slow ${this.#slow.length === 1 ? "test" : "tests"}`;
    say(`${count} (${usual} s and more, ${onFleet} s and more on real clusters):`);
    const longest = this.#slow.toSorted((one, other) => other.ms - one.ms).slice(0, mostSlow);
    for (const { ms, test } of longest) say(`  ${secondsOf(ms)} s ${test}`);
  }

  #noteTime(test: TestCase): void {
    const { duration: ms = 0 } = test.diagnostic() ?? {};
    const limitMs = test.project.name === "fleet" ? this.#slowOnFleetMs : this.#slowMs;
    if (ms < limitMs) return;
    const name = `${test.module.relativeModuleId} > ${test.fullName}`;
    this.#slow.push({ ms, test: name });
  }

  /** `312 of 618 files, 4,100 tests, 0 failed, 11 min`. */
  #progress(): string {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    const elapsed = seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
    const tests = this.#tests.toLocaleString("en");
    return `${this.#files} of ${this.#allFiles} files, ${tests} tests, ${this.#failed} failed, ${elapsed}`;
  }
}

/** ` > suite > test: the first line of its error`. */
export function failureOf(test: TestCase): string {
  const [error] = test.result().errors ?? [];
  return ` > ${test.fullName}: ${firstLineOf(error?.message)}`;
}

export function firstLineOf(message = ""): string {
  return message.split("\n", 1).join("");
}

function secondsOf(ms: number): number {
  return Math.round(ms / 100) / 10;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
