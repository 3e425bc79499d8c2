import { env } from "node:process";

import { ensureReleases } from "../../cmd/release-files.ts";

/**
 * The releases that are installed here: in a test file with the tag `release-files` Knative's own, in every other one the sample
 * (test/support/release-world.ts); in programs such as the benchmark those that KNFLEET_RELEASE_DIR names, else Knative's own.
 */
export async function releaseDir(): Promise<string> {
  const { KNFLEET_RELEASE_DIR: named = "" } = env;
  if (named !== "") return named;
  return (await ensureReleases({ environment: env }, AbortSignal.timeout(120_000))).dir;
}
