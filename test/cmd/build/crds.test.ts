import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

test("npm run crds -- --check succeeds for the committed files and says so", async () => {
  const cwd = join(import.meta.dirname, "../../..");
  const { stdout } = await promisify(execFile)(process.execPath, ["cmd/build/crds.ts", "--check"], {
    cwd,
  });
  expect(stdout).toBe("CRDs are up to date\n");
});
