import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { expect, test } from "vitest";

function mutants(...args: readonly string[]) {
  const script = join(import.meta.dirname, "mutants.ts");
  return spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
}

test("help says how the command is used", () => {
  expect(mutants("--help")).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("npm run mutants -- PATH…"),
  });
});

test.each([
  { name: "without a path", args: [], problem: "Name the files or folders to change" },
  { name: "with a path that is not there", args: ["nowhere"], problem: "nowhere does not exist" },
  { name: "without a runner", args: ["sets", "--concurrency", "0"], problem: "from 1 (is 0)" },
  { name: "with an empty sample", args: ["sets", "--sample", "0"], problem: "above 0 (is 0)" },
])("a call $name is told why it is wrong, and how the command is used", ({ args, problem }) => {
  const { status, stderr } = mutants(...args);
  expect(status).toBe(2);
  expect(stderr).toContain(problem);
  expect(stderr).toContain("Usage: npm run mutants");
});
