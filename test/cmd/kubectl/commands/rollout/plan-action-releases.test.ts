import { tmpdir } from "node:os";

import { expect, test } from "vitest";

import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { sampleSet } from "./sample-set.ts";

test("rollout plan without release files says that it could not read them", async () => {
  await using hub = await startStubHub([sampleSet()]);
  const line = ["rollout", "plan", "kss/prod", "-n", "platform", "--release-dir", tmpdir()];
  const { stderr, exitCode } = await runText(line, { env: hub.env });
  expect(exitCode).toBe(3);
  expect(stderr).toContain("warning: could not be read: the release files: Release directory");
});
