import { readFile } from "node:fs/promises";

import { connectHub } from "../access/hub.ts";
import { ManifestSource } from "../access/manifest-source.ts";
import { openSpokes, type SpokesOptions } from "../access/open-spokes.ts";
import { PathMetrics } from "../access/path-metrics.ts";
import { RequestCounters } from "../access/request-counters.ts";
import { systemClock } from "../controller/clock.ts";
import { startController } from "../controller/controller.ts";
import { lead, type LeaderOptions, type Leadership, soleLeadership } from "../controller/leader.ts";
import type { Log } from "../controller/log.ts";
import { openReleases } from "../controller/render/release.ts";
import { type ControllerFlags, pollIntervalOf } from "./flags.ts";
import { collectWhenIdle } from "./idle-memory.ts";
import type { Service } from "./run.ts";

export interface ControllerSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Tells this process from all others that may hold the Lease. */
  readonly identity: string;
  readonly log: Log;
}

const leaseName = "knfleet-controller";
const usualNamespace = "knfleet-system";
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/**
 * Wires the controller together from its flags. Throws FleetError `ConfigInvalid` with one sentence for a release directory,
 * kubeconfig, provider file or address that cannot be used.
 */
export async function startControllerService(
  flags: ControllerFlags,
  { environment, version, identity, log }: ControllerSurroundings,
  signal: AbortSignal,
): Promise<Service> {
  const { kubeconfig, clusterprofileProviderFile: providerFile } = flags;
  const pollMs = pollIntervalOf(flags.remoteDeploymentsPollInterval);
  const healthAddress = flags.healthAddress === "nowhere" ? undefined : flags.healthAddress;
  log.info({ version, pollIntervalMs: pollMs, releaseDir: flags.releaseDir }, "Starting");
  const releases = await openReleases(flags.releaseDir);
  await using opened = new AsyncDisposableStack();
  opened.use(collectWhenIdle());
  const counters = new RequestCounters();
  const path = new PathMetrics();
  const client = { userAgent: `knfleet-controller/${version}`, counters };
  const source = kubeconfig === undefined ? {} : { kubeconfig };
  const hub = opened.use(await connectHub({ environment, ...source, ...client }));
  const hubAsTarget = opened.use(await connectHub({ environment, ...source, ...client }));
  const provider = providerFile === undefined ? {} : { providerFile };
  const plugins = forPlugins(flags, environment);
  const access = { hub: hub.client, log, path, ...plugins, ...provider, ...client };
  const spokes = opened.use(await openSpokes(access, signal));
  const sources = { sources: flags.manifestSource, now: () => performance.now() };
  const manifests = opened.use(new ManifestSource({ ...client, ...sources }));
  const rendering = { environment, manifestText: (url: string) => manifests.read(url) };
  const namespace = flags.leaderElectionNamespace ?? (await namespaceOf(environment));
  const lease = { client: hub.client, namespace, name: leaseName, identity };
  const election = { ...lease, clock: systemClock, log };
  const controller = opened.use(
    await startController(
      {
        hub: hub.client,
        hubAsTarget: hubAsTarget.client,
        spokes,
        releases,
        rendering,
        lead: (until, onTrouble) => leadership(flags, { ...election, onTrouble }, until),
        requests: () => counters.snapshot(),
        path,
        clock: systemClock,
        random: Math.random,
        log,
      },
      { pollMs, concurrency: flags.concurrency, healthAddress },
      signal,
    ),
  );
  const running = opened.move();
  return { failed: controller.failed, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function isAlone({ disableHa, leaderElection }: ControllerFlags): boolean {
  return disableHa || !leaderElection;
}

/** Exec plugins read Secrets of the same hub. */
function forPlugins(
  { kubeconfig, pluginRoot }: ControllerFlags,
  environment: ControllerSurroundings["environment"],
): Pick<SpokesOptions, "environment" | "pluginRoots"> {
  const hub = kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig };
  return { environment: { ...environment, ...hub }, pluginRoots: pluginRoot };
}

async function leadership(
  flags: ControllerFlags,
  options: LeaderOptions,
  until: AbortSignal,
): Promise<Leadership> {
  return isAlone(flags) ? soleLeadership() : lead(options, until);
}

/** The pod's own namespace, or the usual one outside a pod. */
async function namespaceOf(environment: ControllerSurroundings["environment"]): Promise<string> {
  const named = environment["POD_NAMESPACE"] ?? "";
  if (named !== "") return named;
  const mounted = await readFile(podNamespaceFile, "utf8").catch(() => "");
  return mounted.trim() === "" ? usualNamespace : mounted.trim();
}
