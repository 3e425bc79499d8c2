import type { Reporter, TestModule } from "vitest/node";

/** Prints the count of all tests as one plain line at the end, for CI and for people who skim. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const { result } of [...module.children.allTests()].map((test) => ({
        result: test.result(),
      }))) {
        if (result.state === "passed" || result.state === "failed") counts[result.state] += 1;
        else counts.skipped += 1;
      }
    }
    const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
  }
}
