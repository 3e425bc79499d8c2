import type { Reporter, TestCase, TestModule, TestSpecification, TestSuite } from "vitest/node";

interface Options {
  /** How long the run may say nothing of how far it is. */
  readonly everyMs?: number;
  /** A terminal shows how far the run is by itself. */
  readonly isTerminal?: boolean;
}

/** Tells of each failure when it happens, in one line, and now and then how far the run is: whoever reads a log of CI need not wait for the end. */
export default class ProgressReporter implements Reporter {
  readonly #everyMs: number;
  readonly #isTerminal: boolean;
  #timer: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #allFiles = 0;
  #files = 0;
  #tests = 0;
  #failed = 0;

  constructor({ everyMs = 30_000, isTerminal = process.stdout.isTTY }: Options = {}) {
    this.#everyMs = everyMs;
    this.#isTerminal = isTerminal;
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

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
