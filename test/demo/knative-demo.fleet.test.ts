// @module-tag release-files
import { expect, test } from "vitest";

import { runDemo, survivorsOf } from "./demo-process.ts";
import { storySteps } from "./story.ts";

// More than 15 s, as in demo.fleet.test.ts: a fleet of its own, and all commands of the story.
test("the demo tells its whole story with Knative's own files", async () => {
  const run = await runDemo({ args: ["--once"] });
  if (run.code !== 0) throw new Error(`Exit code ${String(run.code)}:\n${run.text}`);
  expect(run.text.match(/^ {2}done in /gm)).toHaveLength(storySteps);
  expect(run.text).not.toContain("sample release");
  expect(run.text).toMatch(/eventing-spoke-2 +KnativeEventing +spoke-2 +1\.22\.\d+ +Ready/);
  expect(survivorsOf(run)).toEqual([]);
}, 600_000);
