import { env } from "node:process";

import { defineConfig } from "vitest/config";

import { LongestFirst } from "./test/support/longest-first.ts";
import { needsOfTests } from "./test/support/needs.ts";
import { globalSetup, setupFiles } from "./test/support/setup-files.ts";

const fleetTests = "test/**/*.fleet.test.ts";
const chartTests = "test/charts/*.test.ts";

export default defineConfig({
  test: {
    // Tests with a tag whose need is not met are left out, and counted by the reporter.
    tags: await needsOfTests(env),
    sequence: { sequencer: LongestFirst },
    reporters: [
      "default",
      "./test/support/progress-reporter.ts",
      "./test/support/count-reporter.ts",
    ],
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          globalSetup,
          setupFiles,
          exclude: [fleetTests, chartTests],
          // A limit for what hangs, not for what is slow: machines are busy.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          // A worker goes on from file to file: modules are loaded once for many files.
          isolate: false,
          // Each worker loads all modules for itself: four files at a time fill two cores.
          maxWorkers: 4,
        },
      },
      {
        test: {
          // They run Helm, a program of the fleet: `npm test` builds it while the unit tests run.
          name: "charts",
          include: [chartTests],
          setupFiles,
          exclude: [fleetTests],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // As the unit tests have: a run of both is refused otherwise.
          maxWorkers: 4,
        },
      },
      {
        test: {
          name: "fleet",
          include: [fleetTests],
          globalSetup,
          setupFiles,
          testTimeout: 300_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 60_000 } },
          // Two files at a time fill two cores, after the unit tests. With four, servers at rest take most of the processor, and each file eight times as long.
          maxWorkers: 2,
          // A worker goes on from file to file, and its clusters with it (test/fleet/pool).
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
