import { expect, test } from "vitest";

import { runText } from "../../run-text.ts";

test.each([
  ["-n", "team-a"],
  ["-l", "env=prod"],
  ["--cluster", "eu-*"],
])("a part of the hub cannot be migrated: %s %s", async (...part) => {
  const { exitCode, stderr } = await runText(["migrate", "from-upstream", ...part]);
  expect(stderr).toContain("A migration is about all components of the hub");
  expect(exitCode).toBe(2);
});
