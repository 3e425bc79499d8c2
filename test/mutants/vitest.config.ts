import { env } from "node:process";

import { defineConfig } from "vitest/config";

import { needsOfTests } from "../support/needs.ts";
import { globalSetup, setupFiles } from "../support/setup-files.ts";

// StrykerJS runs these tests: those without a fleet, below the folders that `npm run mutants` was given.
const folders = (env["KNFLEET_MUTANTS_TESTS"] ?? "test").split(",");

export default defineConfig({
  test: {
    tags: await needsOfTests(env),
    include: folders.map((folder) => (folder.endsWith(".ts") ? folder : `${folder}/**/*.test.ts`)),
    exclude: ["test/**/*.fleet.test.ts"],
    globalSetup,
    setupFiles,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
