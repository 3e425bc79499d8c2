import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parseProviderFile, type ProviderFile } from "../../access/providers/provider-config.ts";
import { writeKubeconfig } from "../fleet/kubeconfig.ts";
import { credentialNamespace } from "./fleet.ts";
import { readThinParts, type ThinReleases } from "./releases.ts";

/** What all simulations of a process share, and none of them changes. */
export interface Surroundings extends AsyncDisposable {
  readonly kubeconfig: string;
  readonly providers: ProviderFile;
  readonly releases: ThinReleases;
}

/** Writes the kubeconfig that a controller reads at its start, and reads the releases. */
export async function openSurroundings(): Promise<Surroundings> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-simulate-"));
  const kubeconfig = await writeKubeconfig(join(folder, "hub.kubeconfig"), {
    name: "hub",
    server: "https://hub.simulated",
    caPem: "nobody checks it",
    identity: { token: "hub" },
  });
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "builtin:secretreader",
    env: [
      { name: "KUBECONFIG", value: "/nonexistent" },
      { name: "POD_NAMESPACE", value: credentialNamespace },
    ],
    provideClusterInfo: true,
  };
  const provider = { name: "secretreader", execConfig, systemRoots: true };
  const text = JSON.stringify({ providers: [provider] });
  return {
    kubeconfig,
    providers: parseProviderFile(text, { path: "providers.json", format: "json" }),
    releases: await readThinParts(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
