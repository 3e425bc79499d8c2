import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", "./test/support/count-reporter.ts"],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Two cores: one fleet at a time, beside it one worker for what needs none.
    maxWorkers: 2,
  },
});
