import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { setLabels } from "../../../../api/fleet-set.ts";
import { componentId, targetId } from "../../../../api/keys.ts";
import { setContentOf } from "../../../../controller/reconcile/set-content.ts";
import { waitsForStageMessage } from "../../../../controller/status/progress.ts";
import { type Comparable, comparableOf, fetchSources } from "../../compare/comparable.ts";
import { compareOnTarget } from "../../compare/diff.ts";
import {
  askHub,
  findDuplicate,
  type Look,
  planItem,
  type PlanItem,
  type PlannedChange,
} from "../../compare/plan-item.ts";
import { remarkLines, type RenderSettings } from "../../compare/render-component.ts";
import { readHubId } from "../../compare/target-installation.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { installationError, type ReportError } from "../../output/report.ts";
import type { ComponentDocument } from "../../selection/component-documents.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import { mapLimited, type ReadOne, targetsOf, unreadErrors } from "../../spokes/read-clusters.ts";
import { findWays } from "../../spokes/wayless.ts";

interface PlanSummary {
  readonly components: number;
  readonly blocked: number;
  readonly unread: number;
  readonly create: number;
  readonly change: number;
  readonly recreate: number;
  readonly prune: number;
  /** Pods that would be restarted or stopped. */
  readonly pods: number;
}

/** What applying the components of files would change. Throws only when the hub cannot be asked, or without release files; nothing is changed. */
export async function planFiles(
  fleet: Fleet,
  documents: readonly ComponentDocument[],
  settings: RenderSettings,
): Promise<Planned> {
  const { signal } = fleet;
  const access = await fleet.access();
  const limits = fleet.limits();
  const deadline = withTimeout(systemClock, 2 * access.hubTimeoutMs, signal);
  const asked = await mapLimited(documents, limits.concurrency, async ({ component }) => {
    const answer = await askHub(component, access.hub, deadline);
    return { answer, duplicate: await findDuplicate(answer.component, access.hub, deadline) };
  });
  const free = asked.filter(
    ({ answer, duplicate }) => answer.action !== "refused" && duplicate === undefined,
  );
  const components = free.map(({ answer }) => answer.component);
  const ways = await findWays(components, { access, limits }, signal);
  const { looks, unread } = await readLooks(fleet, ways, settings, (hubId) =>
    readTargets(ways.near, { settings, hubId }),
  );
  const items = asked.map((one) => planItem(one, looks.get(componentId(one.answer.component))));
  const denied = [...looks.values()].flatMap(({ errors }) => errors);
  return plannedOf(items, { missing: [], denied, unread });
}

/** Looks at the clusters of components to which there is a way. What `reader` reads of a cluster are looks by a key of the component. */
export async function readLooks<Found>(
  fleet: Fleet,
  { near, wayless }: Awaited<ReturnType<typeof findWays>>,
  settings: RenderSettings,
  reader: (hubId: string | undefined) => ReadOne<readonly (readonly [key: string, look: Found])[]>,
): Promise<{
  readonly looks: ReadonlyMap<string, Found>;
  readonly unread: readonly ReportError[];
}> {
  await fetchSources(near, settings);
  const hubId = await readHubId(await fleet.access(), fleet.signal);
  const read = await fleet.read(targetsOf(near), reader(hubId));
  return {
    looks: new Map(read.all.flatMap(([, looks]) => looks)),
    unread: unreadErrors(new Map([...wayless, ...read.readings])),
  };
}

/** The plan of some components. */
export type Planned = ReturnType<typeof plannedOf>;

interface PlanErrors {
  /** Names that no installation has. */
  readonly missing: readonly ReportError[];
  readonly denied: readonly ReportError[];
  /** Clusters that could not be read. */
  readonly unread: readonly ReportError[];
}

/** The plan for a report. */
export function plannedOf(items: readonly PlanItem[], { missing, denied, unread }: PlanErrors) {
  const errors = [...missing, ...denied, ...unread];
  const complete = unread.length + denied.length === 0;
  return {
    items,
    summary: planSummary(items, unread.length),
    errors,
    complete,
    exitCode: planExitCode(items, { errors, complete }),
    counts: {
      unread: unread.length,
      clusters: new Set(items.map(({ cluster }) => JSON.stringify(cluster))).size,
    },
  };
}

interface TargetDeps {
  readonly settings: RenderSettings;
  readonly hubId: string | undefined;
}

function readTargets(
  components: readonly Component[],
  deps: TargetDeps,
): ReadOne<readonly (readonly [key: string, look: Look])[]> {
  return async ({ id, client }, signal) => {
    const kubernetesVersion = await readKubernetesVersion(client, signal);
    const here = components.filter((component) => targetId(component) === id);
    return Promise.all(
      here.map(async (component) => {
        const made = await comparableOf(component, deps.settings, { kubernetesVersion });
        return [componentId(component), await lookAt(component, { made, client, ...deps }, signal)];
      }),
    );
  };
}

interface LookDeps extends TargetDeps {
  /** The component, rendered, or why it cannot be. */
  readonly made: Comparable | FleetError;
  readonly client: KubeClient;
}

/** Compares a component with its cluster by dry runs. Throws what KubeClient throws. */
export async function lookAt(
  component: Component,
  { made, ...deps }: LookDeps,
  signal: AbortSignal,
): Promise<Look> {
  if (made instanceof FleetError) {
    return isUnavailable(made) ? unavailable(component, made) : blockedBy(made);
  }
  try {
    const found = await compareOnTarget(component, { made, ...deps, asksForNew: true }, signal);
    const { changes } = found.comparison;
    const { version } = made;
    const kept = await keptMessage(component, deps.settings);
    const remarks = await remarkLines(component, deps.settings, made);
    const warnings = [...remarks, ...(kept === undefined ? [] : [kept])];
    return { version, blocked: null, warnings, changes, errors: found.errors };
  } catch (error) {
    const isOwn =
      error instanceof FleetError && ["AnchorConflict", "ClusterBusy"].includes(error.reason);
    if (!isOwn) throw error;
    return blockedBy(error);
  }
}

/** Why nothing of the changes would happen now: the set of a component has not stamped what these release files render. Undefined where they would happen. */
async function keptMessage(
  component: Component,
  { releases, environment }: RenderSettings,
): Promise<string | undefined> {
  const rendering = { environment };
  const { isHeld } = await setContentOf(component, { releases: await releases(), rendering });
  const stage = component.metadata.labels?.[setLabels.stage] ?? "";
  return isHeld ? waitsForStageMessage(stage) : undefined;
}

function blockedBy({ code, reason, sentence }: FleetError): Look {
  const blocked = { reason: code ?? reason, message: sentence };
  return { version: null, blocked, warnings: [], changes: [], errors: [] };
}

/** Whether a manifest cannot be fetched on this machine; the controller may be able to fetch it. */
function isUnavailable({ reason }: FleetError): boolean {
  return reason === "ManifestSourceUnavailable";
}

function unavailable(component: Component, { reason, sentence: message }: FleetError): Look {
  const errors = [installationError(component, { reason, message })];
  return { version: null, blocked: null, warnings: [], changes: null, errors };
}

/** Counts what would change. */
function planSummary(items: readonly PlanItem[], unread: number): PlanSummary {
  const changes = items.flatMap((item) => item.changes ?? []);
  const count = (action: PlannedChange["action"]): number =>
    changes.filter((change) => change.action === action).length;
  return {
    components: items.length,
    blocked: items.filter(({ blocked }) => blocked !== null).length,
    unread,
    create: count("create"),
    change: count("change"),
    recreate: count("recreate"),
    prune: count("prune"),
    pods: changes.reduce((sum, { pods }) => sum + pods, 0),
  };
}

/** 2: something would not be installed; 3: a cluster could not be read; 1: something would change, or a name does not exist. */
function planExitCode(
  items: readonly PlanItem[],
  { errors, complete }: Pick<Report<PlanItem>, "errors"> & { readonly complete: boolean },
): ExitCode {
  const isRefused = items.some(
    ({ blocked, changes }) =>
      blocked !== null || changes?.some(({ action }) => action === "refused") === true,
  );
  if (isRefused) return exitCodes.failed;
  if (!complete) return exitCodes.incomplete;
  if (errors.some(({ reason }) => reason === "NotFound")) return exitCodes.unhealthy;
  const isChange = items.some(({ hub, changes }) => hub.action !== "none" || changes?.length !== 0);
  return isChange ? exitCodes.unhealthy : exitCodes.fine;
}
