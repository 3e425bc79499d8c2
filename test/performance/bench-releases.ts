import { env } from "node:process";

import { findReleases } from "../../cmd/find-releases.ts";

/** The folder of the release files of a benchmark; `npm run bench` says which one it is. */
export async function releaseDir(): Promise<string> {
  return (await findReleases({ environment: env }, new AbortController().signal)).dir;
}
