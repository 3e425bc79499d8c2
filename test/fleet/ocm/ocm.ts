import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { ensureBinaries } from "../binaries.ts";
import { ocmBinaries } from "../binary-catalogue.ts";
import type { Cluster, Fleet } from "../fleet.ts";
import { startWatchdog } from "../watchdog.ts";
import { startAddons, type Addons } from "./addons.ts";
import { accept, startAgent, type Agent } from "./agent.ts";
import type { ProfileCrd } from "./crds.ts";
import { startHubManagers } from "./hub.ts";
import type { ProgramDeps } from "./programs.ts";

/** Open Cluster Management on the hub of a fleet. Disposing ends all of its processes, those of agents and addons too. */
export interface Ocm extends AsyncDisposable {
  /** Starts the agent of a spoke, which asks to be let in. */
  startAgent(spoke: Cluster): Promise<Agent>;
  /** Lets a spoke in whose agent asks for it, and waits until it is available. */
  accept(spoke: Cluster): Promise<KubeObject>;
  /** Starts cluster-proxy and managed-serviceaccount. */
  startAddons(): Promise<Addons>;
}

/**
 * Starts real components of Open Cluster Management beside the control planes of a fleet. Their programs are built when they
 * are missing. With `profileCrd: "ocm"` the hub gets OCM's ClusterProfile CRD in place of that of the Cluster Inventory API.
 */
export async function startOcm(
  fleet: Fleet,
  {
    profileCrd,
    log = () => undefined,
  }: { readonly profileCrd: ProfileCrd; readonly log?: (line: string) => void },
): Promise<Ocm> {
  const binary = await ensureBinaries(ocmBinaries, { log });
  const folder = join(fleet.folder, "ocm");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await using undo = new AsyncDisposableStack();
  const watchdog = undo.use(startWatchdog(folder));
  const deps: ProgramDeps = { binary, watchdog, log, folder };
  undo.use(await startHubManagers(fleet.hub, profileCrd, deps));
  const running = undo.move();
  return {
    startAgent: async (spoke) => running.use(await startAgent(fleet.hub, spoke, deps)),
    accept: (spoke) => accept(fleet.hub, spoke.name),
    startAddons: async () => running.use(await startAddons(fleet.hub, deps)),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
