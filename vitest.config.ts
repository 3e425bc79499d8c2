import { defineConfig } from "vitest/config";

const fleetTests = "test/**/*.fleet.test.ts";

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/count-reporter.ts"],
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [fleetTests],
          testTimeout: 30_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "fleet",
          include: [fleetTests],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          // A fleet fills two cores: one file at a time, after the unit tests.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
