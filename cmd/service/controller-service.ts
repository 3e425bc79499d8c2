import type { Silence } from "../../access/http/liveness.ts";
import { RequestCounters } from "../../access/http/request-counters.ts";
import type { MayWrite } from "../../access/http/write-permit.ts";
import { connectHub, type HubOptions } from "../../access/hub/hub.ts";
import { ManifestSource } from "../../access/manifests/manifest-source.ts";
import { isShared } from "../../access/providers/reference-policy.ts";
import { openReferences } from "../../access/providers/references.ts";
import type { StepObserver } from "../../access/spokes/attempt-steps.ts";
import { openSpokes, type SpokesOptions } from "../../access/spokes/open-spokes.ts";
import { PathMetrics } from "../../access/spokes/path-metrics.ts";
import { type ControllerDeps, startController } from "../../controller/controller.ts";
import { lead, type Leadership, soleLeadership } from "../../controller/leader/leader.ts";
import type { WorkConnection } from "../../controller/leader/lease-echo.ts";
import type { Log } from "../../controller/log.ts";
import { systemClock } from "../../controller/queue/clock.ts";
import { openReleases } from "../open-releases.ts";
import { podNamespace, referenceSettings } from "./flag-values.ts";
import { type ControllerFlags, pollIntervalOf } from "./flags.ts";
import { Resources, type Service } from "./run.ts";

export interface ControllerSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Unique for this process among all holders of the Lease. */
  readonly identity: string;
  readonly log: Log;
}

/**
 * Builds and starts the controller from its flags. Throws FleetError `ConfigInvalid` with one sentence for a release directory, kubeconfig, provider file or
 * address that is not usable.
 */
export async function startControllerService(
  flags: ControllerFlags,
  { environment, version, identity, log }: ControllerSurroundings,
  signal: AbortSignal,
): Promise<Service> {
  const { kubeconfig } = flags;
  const pollMs = pollIntervalOf(flags.remoteDeploymentsPollInterval);
  const healthAddress = flags.healthAddress === "nowhere" ? undefined : flags.healthAddress;
  log.info({ version, pollIntervalMs: pollMs, releaseDir: flags.releaseDir }, "Starting");
  const releases = await openReleases(flags.releaseDir);
  await using opened = new Resources();
  const [counters, path] = [new RequestCounters(), new PathMetrics()];
  const common = { userAgent: `knfleet-controller/${version}`, counters };
  const source = { environment, ...(kubeconfig === undefined ? {} : { kubeconfig }), ...common };
  const candidate = await standForLease(flags, { hub: source, identity, log });
  const candidacy = opened.use("the connection for the Lease", candidate);
  // Every request that changes a cluster is sent only while this process leads.
  const { permit } = candidacy;
  const hub = opened.use("the connection to the hub", await connectHub({ ...source, ...permit }));
  const hubAsTarget = opened.use("the target hub", await connectHub({ ...source, ...permit }));
  const trust = referenceSettings(flags);
  const references = opened.use("the grants", await openReferences(trust, log, signal));
  const plugins = pluginSettings(flags, environment);
  const options = { ...plugins, ...common, log, path, onStep: logSteps(log), trust, ...permit };
  const toSpokes = await openSpokes({ ...options, hub: hub.client }, signal);
  const spokes = opened.use("the connections to spokes", toSpokes);
  const sources = {
    sources: flags.manifestSource,
    isPinned: isShared(trust),
    now: () => systemClock.now(),
  };
  const manifests = opened.use("manifests", new ManifestSource({ ...common, ...sources }));
  const rendering = { environment, manifestText: (url: string) => manifests.read(url) };
  const content = { releases, rendering, manifests };
  const clusters = { hub: hub.client, hubAsTarget: hubAsTarget.client, spokes, references };
  const world = { clock: systemClock, random: Math.random, log };
  const work = { lead: candidacy.lead([hub, hubAsTarget]), requests: counters, path };
  const deps = { ...clusters, ...world, ...content, ...work };
  const settings = { ...flags, pollMs, auditMs: flags.auditInterval, healthAddress };
  const controller = opened.use("the controller", await startController(deps, settings, signal));
  const running = opened.move();
  return {
    failed: controller.failed,
    ending: () => running.last,
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** Logs each step of connecting to a spoke at level debug. */
function logSteps(log: Log): StepObserver {
  return ({ name: step, startMs, endMs, ...facts }) => {
    const ms = Math.round((endMs - startMs) * 1_000) / 1_000;
    log.debug({ step, ms, ...facts }, "A step on the way to a spoke");
  };
}

/** Settings of exec plugins, which read Secrets of the same hub. */
function pluginSettings(
  { kubeconfig, pluginRoot, clusterprofileProviderFile: providerFile }: ControllerFlags,
  environment: ControllerSurroundings["environment"],
): Pick<SpokesOptions, "environment" | "pluginRoots" | "providerFile"> {
  const hub = kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig };
  const file = providerFile === undefined ? {} : { providerFile };
  return { environment: { ...environment, ...hub }, pluginRoots: pluginRoot, ...file };
}

export interface CandidacyOptions {
  readonly hub: HubOptions;
  /** Unique for this process among all holders of the Lease. */
  readonly identity: string;
  readonly log: Log;
}

/** How this process becomes the leader. */
export interface Candidacy extends AsyncDisposable {
  /** Returns the function that waits for the Lease. The leader works over these connections. */
  lead(workConnections: readonly WorkConnection[]): ControllerDeps["lead"];
  /** Whether this process certainly leads now. Absent: it is the only replica. */
  readonly permit: { readonly mayWrite?: MayWrite };
}

const leaseName = "knfleet-controller";

/** 3 to 4 s, so that after a connection died there is time to renew the Lease over another one. */
const silence: Silence = { everyMs: 1_000, limit: 3 };

/** Opens a separate connection for the Lease: a renewal must not wait behind hundreds of other requests. */
async function standForLease(
  flags: ControllerFlags,
  { hub, identity, log }: CandidacyOptions,
): Promise<Candidacy> {
  const connection = await connectHub({ ...hub, silence });
  const namespace = flags.leaderElectionNamespace ?? (await podNamespace(hub.environment));
  const { client } = connection;
  const reconnect = (): void => connection.reconnect();
  const lease = { client, reconnect, namespace, name: leaseName, identity };
  let leader: Leadership | undefined;
  return {
    lead: (workConnections) => async (circumstances, signal) => {
      const options = { ...lease, ...circumstances, workConnections, clock: systemClock, log };
      leader = isAlone(flags) ? soleLeadership() : await lead(options, signal);
      return leader;
    },
    permit: isAlone(flags) ? {} : { mayWrite: () => leader?.mayWrite() === true },
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

function isAlone({ disableHa, leaderElection }: ControllerFlags): boolean {
  return disableHa || !leaderElection;
}
