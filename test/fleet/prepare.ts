import { setPriority } from "node:os";

import { ensureImageTools, imageObstacle } from "../image/image-tools.ts";
import { ensureBinaries, ensureModuleFiles } from "./binaries.ts";
import { ocmBinaries, olderServers, serverBinaries } from "./binary-catalogue.ts";

// Run before the tests on a fleet, so that the long first build shows its progress and no test has to wait for it.
// The tests without a fleet run beside it, and some of them measure time.
setPriority(10);
const log = (line: string) => void process.stderr.write(`${line}\n`);

try {
  const others = [
    "kubectl",
    "helm",
    "secretreader",
    "kubeconfig-secretreader",
    "prometheus",
  ] as const;
  const charts = ["cluster-proxy-chart", "managed-serviceaccount-chart"] as const;
  const servers = [...serverBinaries, ...Object.values(olderServers)];
  await ensureBinaries([...servers, ...others, ...ocmBinaries], { log });
  const crds = ["inventory-crds", "cluster-api-crds", "ocm-hub-crds", "ocm-spoke-crds"] as const;
  const files = [...crds, ...charts] as const;
  for (const one of files) await ensureModuleFiles(one, { log });
  // A machine that cannot have these leaves out the tests that need them (test/support/needs.ts).
  const why =
    imageObstacle(process.env) ?? (await ensureImageTools(process.env, log).catch(String));
  if (why !== undefined) log(`The image is not built: ${why}`);
} catch (error) {
  log(`Error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
