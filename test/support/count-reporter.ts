import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Prints the count of all tests as one plain line at the end, for CI and for people who skim, and above it what passed only when tried again. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap(({ children }) => [...children.allTests()]);
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const test of tests) {
      const { state } = test.result();
      if (state === "passed" || state === "failed") counts[state] += 1;
      else counts.skipped += 1;
    }
    const flaky = tests.filter((test) => test.diagnostic()?.flaky === true).map(lineOf);
    const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
    process.stdout.write(flaky.join(""));
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
  }
}

function lineOf(test: TestCase): string {
  const [error] = test.result().errors ?? [];
  const why = error === undefined ? "" : `: ${error.message.split("\n", 1).join("")}`;
  return `Passed only when tried again: ${test.module.relativeModuleId} > ${test.fullName}${why}\n`;
}
