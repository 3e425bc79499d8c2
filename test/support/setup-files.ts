/** Run before each test file, in this order. */
export const setupFiles = ["test/support/fuzz-setup.ts", "test/support/release-world.ts"];

/** Run once, before the first test file. */
export const globalSetup = ["test/support/run-folder.ts"];
