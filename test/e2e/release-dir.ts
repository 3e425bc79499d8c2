import { readFile } from "node:fs/promises";
import { env } from "node:process";

import { ensureReleases } from "../../cmd/release-files.ts";

/** The tag of a file whose tests need Knative's release files. */
const tag = /@module-tag release-files\b|tags: \["release-files"\]/u;

/**
 * Knative's own releases. A test that takes them says so with the tag `release-files`, because it is left out where they cannot be had; a file
 * without the tag gets an error on every machine.
 */
export async function releaseDir(): Promise<string> {
  await assertTagged();
  return (await ensureReleases({ environment: env }, AbortSignal.timeout(120_000))).dir;
}

/** Knative's own releases where they are at hand, else the sample release of the project: for tests whose facts hold with both. */
export async function anyReleaseDir(): Promise<string> {
  // `npm test` has tried to download them: tests do not wait for that again.
  const options = { environment: env, allowSample: true, download: !isTest() };
  return (await ensureReleases(options, AbortSignal.timeout(120_000))).dir;
}

async function assertTagged(): Promise<void> {
  if (!isTest()) return;
  const { expect } = await import("vitest");
  const { testPath = "" } = expect.getState();
  if (tag.test(await readFile(testPath, "utf8"))) return;
  throw new Error(
    `${testPath} takes Knative's release files without the tag release-files: see "Tests without release files" in docs/development.md`,
  );
}

/** False in programs that take the releases too, such as the benchmark, also when a test runs them. */
function isTest(): boolean {
  return "__vitest_worker__" in globalThis;
}
