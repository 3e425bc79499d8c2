import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { ensureModuleFiles } from "./binaries.ts";

// `npm run inventory-crd` prints the CRD of ClusterProfiles. It is a file of a Go module, so a machine that reaches Go's proxy needs no download from elsewhere.
const say = (line: string) => void process.stderr.write(`${line}\n`);

try {
  const folder = await ensureModuleFiles("inventory-crds", { log: say });
  const file = join(folder, "multicluster.x-k8s.io_clusterprofiles.yaml");
  process.stdout.write(await readFile(file, "utf8"));
} catch (error) {
  say(`Error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
