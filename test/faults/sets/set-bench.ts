import { prepareSets } from "../../e2e/set-scene.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { ControllerProcessOptions } from "../../support/controller-process.ts";
import { kubeconfigThrough } from "../fault-bench.ts";
import { startFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import { WriteLog } from "../write-log.ts";

/** The hub of a fleet behind a fault proxy, and its three spokes in rings; no controller runs yet. */
export interface SetBench extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly hubProxy: FaultProxy;
  /** Writes of controllers to the hub. */
  readonly log: WriteLog;
  /** How a controller is started. */
  readonly controller: ControllerProcessOptions;
  readonly say: (line: string) => void;
}

/** How many spokes its fleet has. */
export const spokesOfSets = 3;

/** Prepares a fleet, which stays its owner's, and starts the proxy. */
export async function startSetBench(fleet: Fleet, say: (line: string) => void): Promise<SetBench> {
  await using undo = new AsyncDisposableStack();
  const { options } = await prepareSets(fleet);
  const log = new WriteLog();
  const { name, server, caPem } = fleet.hub;
  const hubProxy = undo.use(await startFaultProxy({ cluster: name, server, caPem, log }));
  const kubeconfig = await kubeconfigThrough(hubProxy, fleet);
  const running = undo.move();
  return {
    fleet,
    hubProxy,
    log,
    controller: { ...options, kubeconfig },
    say,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
