import { expect, test } from "vitest";

import { runText } from "../../run-text.ts";

test.each([
  { args: [], says: "Name one ClusterProfile" },
  { args: ["--", "true"], says: "Name one ClusterProfile" },
  { args: ["a", "b", "--", "true"], says: "Name one ClusterProfile" },
  { args: ["a", "true"], says: "A command stands after --" },
  { args: ["a", "--"], says: "There is no command after --" },
])("connect $args: $says", async ({ args, says }) => {
  const { exitCode, stderr } = await runText(["connect", ...args], { env: {} });
  expect(stderr).toMatch(/^error: /);
  expect(stderr).toContain(says);
  expect(exitCode).toBe(2);
});
