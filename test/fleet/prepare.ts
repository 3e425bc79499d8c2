import { ensureBinaries, ensureInventoryCrds } from "./binaries.ts";
import { olderServers, serverBinaries } from "./binary-catalogue.ts";

// Run before the tests, so that the long first build shows its progress and no test has to wait for it.
const log = (line: string) => void process.stderr.write(`${line}\n`);

try {
  const clients = ["kubectl", "helm", "secretreader", "kubeconfig-secretreader"] as const;
  const servers = [...serverBinaries, ...Object.values(olderServers)];
  await ensureBinaries([...servers, ...clients], { log });
  await ensureInventoryCrds({ log });
} catch (error) {
  log(`Error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
