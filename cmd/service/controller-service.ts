import { RequestCounters } from "../../access/http/request-counters.ts";
import type { OpenTransport } from "../../access/http/request.ts";
import { connectHub, type HubOptions } from "../../access/hub/hub.ts";
import { endpointChecker } from "../../access/profiles/check-endpoint.ts";
import type { ProviderFile } from "../../access/providers/provider-config.ts";
import { isShared } from "../../access/providers/reference-policy.ts";
import { openReferences } from "../../access/providers/references.ts";
import type { StepObserver } from "../../access/spokes/attempt-steps.ts";
import { newSpokeLimits, openSpokes, type SpokesOptions } from "../../access/spokes/open-spokes.ts";
import { PathMetrics } from "../../access/spokes/path-metrics.ts";
import type { Clock } from "../../access/time/clock.ts";
import { CheckSource } from "../../access/urls/check-source.ts";
import { ManifestSource, type ManifestSourceOptions } from "../../access/urls/manifest-source.ts";
import { FleetError } from "../../api/errors.ts";
import type { ControllerDeps, ControllerSettings } from "../../controller/controller-deps.ts";
import { startController } from "../../controller/controller.ts";
import { installCrds } from "../../controller/install-crds.ts";
import type { WorkConnection } from "../../controller/leader/lease-echo.ts";
import type { Log } from "../../controller/log.ts";
import type { Releases } from "../../render/release/releases.ts";
import { type Candidacy, standForLease } from "./candidacy.ts";
import { referenceSettings } from "./flag-values.ts";
import { type ControllerFlags, discoverySettings, pollIntervalOf } from "./flags.ts";
import { Resources, type Service } from "./run.ts";
import { openServiceReleases } from "./service-releases.ts";

export interface ControllerSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Unique for this process among all holders of the Lease. */
  readonly identity: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly openTransport?: OpenTransport;
  /** Absent: those that the flags name. */
  readonly releases?: Releases;
  /** Absent: those of the file that the flags name, which is followed. */
  readonly providers?: ProviderFile;
  /** What asks the servers of checks. Absent: those that the flags allow are asked. */
  readonly checkSource?: ControllerDeps["checkSource"];
}

/**
 * Builds and starts the controller from its flags. Throws FleetError `ConfigInvalid` with one sentence for a release directory, kubeconfig, provider file or
 * address that is not usable.
 */
export async function startControllerService(
  flags: ControllerFlags,
  { environment, version, identity, log, clock, ...given }: ControllerSurroundings,
  signal: AbortSignal,
): Promise<Service> {
  const { kubeconfig } = flags;
  const settings = settingsOf(flags);
  const { pollMs: pollIntervalMs } = settings;
  log.info({ version, pollIntervalMs }, "Starting");
  const releases =
    given.releases ?? (await openServiceReleases(flags.releaseDir, { environment, log }, signal));
  await using opened = new Resources();
  const [counters, path] = [new RequestCounters(clock), new PathMetrics(clock)];
  const userAgent = `knfleet-controller/${version}`;
  // The identity tells the replicas apart in audit logs.
  const common = {
    clock,
    userAgent: `${userAgent} (${identity})`,
    counters,
    openTransport: given.openTransport,
  };
  const source = { environment, ...(kubeconfig === undefined ? {} : { kubeconfig }), ...common };
  const candidate = await standForLease(flags, { hub: source, identity, log });
  const candidacy = opened.use("the connection for the Lease", candidate);
  if (flags.installCrds) await bringCrds(source, { version, log }, signal);
  const hubs = await openHubs(opened, source, candidacy);
  const trust = referenceSettings(flags);
  const world = { clock, random: () => clock.random(), log };
  const references = opened.use("the grants", await openReferences(trust, world, signal));
  const plugins = pluginSettings(flags, environment);
  const { providers } = given;
  const { hub } = hubs.clients;
  const options = {
    ...plugins,
    ...common,
    providers,
    log,
    onStep: logSteps(log),
    trust,
    hub,
    limits: newSpokeLimits(clock),
  };
  const measured = { ...options, path };
  const toSpokes = await openSpokes({ ...measured, ...candidacy.permits.spokes }, signal);
  const spokes = opened.use("the connections to spokes", toSpokes);
  const checking = await openForChecks(opened, { flags, candidacy, spokes: options }, signal);
  const texts = { clock, userAgent, isPinned: isShared(trust) };
  const manifests = opened.use("manifests", manifestSource(flags, texts));
  const rendering = { environment, manifestText: (url: string) => manifests.read(url) };
  const checks = new CheckSource({ sources: flags.checkSource, userAgent });
  opened.use("the servers of checks", checks);
  const { checkSource = checks } = given;
  const content = { releases, rendering, manifests, checkSource };
  const work = {
    leaseNamespace: candidacy.namespace,
    lead: candidacy.lead(hubs.connections),
    requests: counters,
    path,
    ...discoveryOf(flags, { clock, userAgent, environment }),
  };
  const deps = { ...hubs.clients, spokes, ...checking, references, ...world, ...content, ...work };
  const controller = opened.use("the controller", await startController(deps, settings, signal));
  const running = opened.move();
  return {
    failed: controller.failed,
    ending: () => running.last,
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** Over a connection of its own: CRDs are written before there is a leader. */
async function bringCrds(
  hub: HubOptions,
  { version, log }: Pick<ControllerSurroundings, "version" | "log">,
  signal: AbortSignal,
): Promise<void> {
  await using connection = await connectHub(hub);
  await installCrds({ client: connection.client, version, clock: hub.clock, log }, signal);
}

/** The controller spreads the settings over the dependencies: a setting with the name of a dependency would replace it. This type forbids that. */
type OnlySettings = ControllerSettings & { readonly [Name in keyof ControllerDeps]?: never };

/** Throws FleetError `ConfigInvalid` for flags that contradict each other. */
export function settingsOf({ checkSource: _allowed, ...flags }: ControllerFlags): OnlySettings {
  const { healthAddress, auditInterval: auditMs, delivery: mode, agentImage } = flags;
  const { pullNamespace: namespaces } = flags;
  if (mode === "Auto" && (agentImage === undefined || namespaces.length === 0)) {
    const message = "--delivery=Auto needs --agent-image and --pull-namespace";
    throw new FleetError("ConfigInvalid", message);
  }
  return {
    ...flags,
    pollMs: pollIntervalOf(flags.remoteDeploymentsPollInterval),
    auditMs,
    healthAddress: healthAddress === "nowhere" ? undefined : healthAddress,
    ...(agentImage === undefined ? {} : { pull: { mode, agentImage, namespaces } }),
  };
}

function discoveryOf(
  flags: ControllerFlags,
  options: Parameters<typeof endpointChecker>[0],
): Pick<ControllerDeps, "discovery"> {
  const settings = discoverySettings(flags);
  if (settings.producers.length === 0) return {};
  return { discovery: { settings, check: endpointChecker(options) } };
}

/** Opens two connections to the hub, so that an install on the hub itself delays no other request. */
async function openHubs(
  opened: Resources,
  source: HubOptions,
  { permits, permitFor }: Candidacy,
): Promise<{
  readonly connections: readonly WorkConnection[];
  readonly clients: Pick<ControllerDeps, "hub" | "hubFor" | "hubAsTarget">;
}> {
  const toHub = await connectHub({ ...source, ...permits.hub });
  const hub = opened.use("the connection to the hub", toHub);
  const toTarget = await connectHub({ ...source, ...permits.hubAsTarget });
  const hubAsTarget = opened.use("the target hub", toTarget);
  return {
    connections: [hub, hubAsTarget],
    clients: {
      hub: hub.client,
      hubFor: (part, signal) => hub.clientWith(permitFor(part, signal)),
      hubAsTarget: hubAsTarget.client,
    },
  };
}

/** Opens further connections to spokes where shards divide the fleet: one process runs the Jobs of checks on clusters of all shards. */
async function openForChecks(
  opened: Resources,
  given: {
    readonly flags: Pick<ControllerFlags, "sets" | "shards">;
    readonly candidacy: Pick<Candidacy, "permits">;
    readonly spokes: SpokesOptions;
  },
  signal: AbortSignal,
): Promise<Pick<ControllerDeps, "checkSpokes">> {
  const { sets, shards } = given.flags;
  if (!sets || shards === 1) return {};
  const spokes = await openSpokes({ ...given.spokes, ...given.candidacy.permits.checks }, signal);
  return { checkSpokes: opened.use("the connections for checks", spokes) };
}

function manifestSource(
  flags: ControllerFlags,
  common: Pick<ManifestSourceOptions, "clock" | "userAgent" | "isPinned">,
): ManifestSource {
  return new ManifestSource({ ...common, sources: flags.manifestSource });
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
  {
    kubeconfig,
    pluginRoot,
    pluginHomeDir,
    clusterprofileProviderFile: providerFile,
  }: ControllerFlags,
  environment: ControllerSurroundings["environment"],
): Pick<SpokesOptions, "environment" | "pluginRoots" | "pluginHomeDir" | "providerFile"> {
  const hub = kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig };
  const file = providerFile === undefined ? {} : { providerFile };
  const homes = pluginHomeDir === undefined ? {} : { pluginHomeDir };
  return { environment: { ...environment, ...hub }, pluginRoots: pluginRoot, ...file, ...homes };
}
