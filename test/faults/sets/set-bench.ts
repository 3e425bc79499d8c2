import { prepareSets } from "../../e2e/set-scene.ts";
import { startFleet, type Fleet } from "../../fleet/fleet.ts";
import type { ControllerProcessOptions } from "../../support/controller-process.ts";
import { kubeconfigThrough } from "../fault-bench.ts";
import { startFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import { WriteLog } from "../write-log.ts";

/** A hub behind a fault proxy and three spokes in rings; no controller runs yet. */
export interface SetBench extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly hubProxy: FaultProxy;
  /** Writes of controllers to the hub. */
  readonly log: WriteLog;
  /** How a controller is started. */
  readonly controller: ControllerProcessOptions;
  readonly say: (line: string) => void;
}

/** Starts the clusters and the proxy. */
export async function startSetBench(say: (line: string) => void): Promise<SetBench> {
  await using undo = new AsyncDisposableStack();
  const fleet = undo.use(await startFleet({ spokes: 3, log: say }));
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
