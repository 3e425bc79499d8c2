import { join } from "node:path";

import type { ComponentKind } from "../../api/component.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { startFleet, type Cluster, type Fleet, type Profile } from "../fleet/fleet.ts";
import { writeKubeconfig } from "../fleet/kubeconfig.ts";
import { ControllerProcess, type ControllerProcessOptions } from "../support/controller-process.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { seeded } from "./seeded.ts";
import { WriteLog } from "./write-log.ts";

/** A spoke behind a fault proxy, as the hub knows it. */
export interface Target {
  readonly kind: ComponentKind;
  readonly spoke: Cluster;
  readonly proxy: FaultProxy;
  readonly profile: Profile;
}

/** A hub and two spokes, each behind a fault proxy of its own; no controller runs yet. */
export interface FaultBench extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly hub: Cluster;
  readonly hubProxy: FaultProxy;
  /** Writes of controllers to the hub and to the spokes, in one count. */
  readonly log: WriteLog;
  readonly serving: Target;
  readonly eventing: Target;
  /** Flags and files with which a controller sees the clusters through the proxies. */
  readonly controller: ControllerProcessOptions;
  readonly seed: number;
  /** Whether the controllers of trials protect anchors. */
  readonly isGuarded: boolean;
  /** In [0, 1), the same sequence for the same seed. */
  readonly random: () => number;
  readonly say: (line: string) => void;
}

export interface FaultBenchOptions {
  readonly seed: number;
  /** The single faults meet controllers with the anchor's guard too; default false. The crash sweep always does. */
  readonly isGuarded?: boolean;
  readonly say: (line: string) => void;
}

const startLimitMs = 60_000;

/** Starts the clusters and the proxies. Serving belongs on `spoke-1`, Eventing on `spoke-2`. */
export async function startFaultBench({
  seed,
  say,
  isGuarded = false,
}: FaultBenchOptions): Promise<FaultBench> {
  await using undo = new AsyncDisposableStack();
  const fleet = undo.use(await startFleet({ hub: { egress: true }, spokes: 2, log: say }));
  const log = new WriteLog();
  const proxyOf = async ({ name, server, caPem }: Cluster): Promise<FaultProxy> =>
    undo.use(await startFaultProxy({ cluster: name, server, caPem, log }));
  const { hub } = fleet;
  const hubProxy = await proxyOf(hub);
  const targetOf = async (kind: ComponentKind, position: number): Promise<Target> => {
    const spoke = fleet.spoke(position);
    const proxy = await proxyOf(spoke);
    const profile = await fleet.addProfile(spoke, {
      plugin: position === 0 ? "secretreader" : "kubeconfig-secretreader",
      via: proxy.url,
      cluster: { "certificate-authority-data": base64(proxy.caPem) },
    });
    return { kind, spoke, proxy, profile };
  };
  const serving = await targetOf("KnativeServing", 0);
  const eventing = await targetOf("KnativeEventing", 1);
  const controller = {
    kubeconfig: await kubeconfigThrough(hubProxy, fleet),
    providerFile: await fleet.providerFile(),
    releaseDir: await releaseDir(),
    readyTimeoutMs: startLimitMs,
  };
  const running = undo.move();
  return {
    fleet,
    hub,
    hubProxy,
    log,
    serving,
    eventing,
    controller,
    seed,
    isGuarded,
    random: seeded(seed),
    say,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The hub with the rights of the documentation, by a token, through the proxy. */
export async function kubeconfigThrough(proxy: FaultProxy, fleet: Fleet): Promise<string> {
  // Makes the account and its rights.
  await fleet.controllerKubeconfig();
  const { token } = await fleet.hub.serviceAccountToken({
    namespace: "knfleet-system",
    name: "knfleet-controller",
  });
  return writeKubeconfig(join(fleet.folder, "through-proxy.kubeconfig"), {
    name: "hub",
    server: proxy.url,
    caPem: proxy.caPem,
    identity: { token },
    namespace: "knfleet-system",
  });
}

/** Starts a controller that sees the clusters through the proxies; it ends itself when it cannot be ready. */
export async function startController(
  bench: FaultBench,
  options: ControllerProcessOptions = {},
): Promise<ControllerProcess> {
  const controller = new ControllerProcess({ ...bench.controller, ...options });
  try {
    // On a machine that is busy with other things a start takes its time.
    await controller.logged({ msg: "Serving health and metrics" }, startLimitMs);
    await controller.ready();
    return controller;
  } catch (error) {
    await controller[Symbol.asyncDispose]();
    throw error;
  }
}

/** The end of a controller's log, for whoever looks for a cause. */
export function lastWordsOf(controller: ControllerProcess): readonly string[] {
  const lines = controller.logLines().slice(-12);
  return lines.map((line) => JSON.stringify(line).slice(0, 400));
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
