import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parseProviderFile, type ProviderFile } from "../../access/providers/provider-config.ts";
import { writeKubeconfig } from "../fleet/kubeconfig.ts";
import { comparedShapes } from "../simulator/comparison/request-shape.ts";
import { localToken, serverOf } from "./cluster.ts";
import { credentialNamespace, spokeName } from "./fleet.ts";
import { readThinParts, type ThinReleases } from "./releases.ts";
import { mostSpokes } from "./scenario.ts";

/** What all simulations of a process share, and none of them changes. */
export interface Surroundings extends AsyncDisposable {
  /** The path of the kubeconfig of a cluster, for who runs for it. */
  readonly kubeconfigOf: (cluster: string) => string;
  readonly providers: ProviderFile;
  readonly releases: ThinReleases;
  /** How a simulated cluster may be asked: as it was compared with a real API server. */
  readonly comparedShapes: ReadonlySet<string>;
}

/** Writes the kubeconfigs that controllers read at their start, and reads the releases. */
export async function openSurroundings(): Promise<Surroundings> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-simulate-"));
  const kubeconfigOf = (name: string): string => join(folder, `${name}.kubeconfig`);
  const names = ["hub", ...Array.from({ length: mostSpokes }, (_, at) => spokeName(at))];
  for (const name of names) {
    // oxlint-disable-next-line no-await-in-loop -- they are few and small
    await writeKubeconfig(kubeconfigOf(name), {
      name,
      server: serverOf(name),
      caPem: "nobody checks it",
      identity: { token: localToken },
    });
  }
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
    kubeconfigOf,
    providers: parseProviderFile(text, { path: "providers.json", format: "json" }),
    releases: await readThinParts(),
    comparedShapes: comparedShapes(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
