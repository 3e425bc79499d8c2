import { env } from "node:process";

import { findReleases } from "../../cmd/find-releases.ts";

/**
 * The releases to install here. In a test file with the tag `release-files` they are Knative's own, in every other one the sample
 * (test/support/release-world.ts); in a program such as the benchmark those that any program finds.
 */
export async function releaseDir(): Promise<string> {
  return (await findReleases({ environment: env }, AbortSignal.timeout(120_000))).dir;
}
