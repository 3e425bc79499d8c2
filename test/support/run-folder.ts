import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** A folder that lives as long as the run: what one worker has made there need not be made by the others. */
    runFolder: string;
  }
}

/** Makes the folder of a run before its first test. Returns what removes it after the last one. */
export default async function setUp({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-run-"));
  provide("runFolder", folder);
  return () => rm(folder, { recursive: true, force: true });
}
