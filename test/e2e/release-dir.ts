import { ensureReleases } from "../../cmd/release-files.ts";

/** The real releases; a test that has none fails, because the sample would prove less than the test says. */
export async function releaseDir(): Promise<string> {
  const { dir } = await ensureReleases({ environment: process.env }, AbortSignal.timeout(120_000));
  return dir;
}
