import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ClusterProfileRef } from "../../../api/component.ts";
import { timestampOf } from "../../../api/conditions.ts";
import type { Part } from "../../../api/shards.ts";
import { whoAmI } from "../../../controller/guard/whoami.ts";
import { words } from "../output/steps.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import {
  type ControllerDeployment,
  flavourOf,
  listBindings,
  listControllerDeployments,
  provenLeases,
} from "./find-controller.ts";
import {
  type ControllerLease,
  listControllerLeases,
  partsText,
  replicaName,
  servedBy,
  type Serving,
  servingOf,
  workLease,
} from "./replicas.ts";

/** Whether replicas of the controller work for what a document shows. */
export interface ControllerView {
  /** Null: what proves it may not be read; the message says so. */
  readonly works: boolean | null;
  readonly reason: "NoController" | null;
  readonly code: "KNF1005" | null;
  readonly message: string | null;
  /** Since when no replica works for it, RFC 3339; null: not known, or one does. */
  readonly since: string | null;
  readonly next: readonly string[];
}

/** What proves which replicas of the controller work. */
export interface ControllerFacts {
  readonly serving: Serving | undefined;
  /** The time of the hub, ms since 1970. */
  readonly timeMs: number;
  /** The Deployments of knfleet, where they were looked for because there is no Lease, and none of them is available. Several may be the controller. */
  readonly stopped: readonly ControllerDeployment[];
  /** True: the upstream operator works in place of knfleet. */
  readonly isUpstream: boolean;
  /** What proves it may not be read. */
  readonly isForbidden?: true;
}

/** When the Leases are judged. */
export interface JudgedAt {
  readonly timeMs: number;
  /** True: the time is that at which a bundle was written. */
  readonly isRecorded: boolean;
}

// A bundle is written after its slowest cluster was read, and the Leases were read before.
const gatheringMs = 60_000;

/** Reads which replicas work. Undefined where that could not be read. */
export async function readControllerFacts(
  hub: KubeClient,
  { timeMs: atMs, isRecorded }: JudgedAt,
  signal: AbortSignal,
): Promise<ControllerFacts | undefined> {
  const timeMs = isRecorded ? atMs - gatheringMs : atMs;
  const none = { stopped: [], isUpstream: false };
  const found = await readProofs(hub, signal);
  if (found === undefined) return undefined;
  if (found === "forbidden") return { serving: undefined, timeMs, ...none, isForbidden: true };
  const [leases, bindings] = found;
  const proven = provenLeases(leases, bindings);
  const here = servingOf(proven, timeMs);
  if (here !== undefined && here.holders.size === here.parts.length) {
    return { serving: here, timeMs, ...none };
  }
  // A clock of this machine that is ahead lets every Lease look old.
  const thereMs = isRecorded || here === undefined ? timeMs : await hubTime(hub, timeMs, signal);
  const serving = servingOf(proven, thereMs);
  const isIdle = serving === undefined || serving.holders.size === 0;
  const isOurs = bindings.some((binding) => flavourOf(binding) === "knfleet");
  if (!isIdle || !isOurs) return { serving, timeMs: thereMs, ...none };
  const deployments = await listControllerDeployments(hub, signal).catch(() => []);
  const ours = deployments.filter(({ flavour }) => flavour === "knfleet");
  return {
    serving,
    timeMs: thereMs,
    stopped: ours.some(({ available }) => available > 0) ? [] : ours,
    isUpstream: deployments.some(
      ({ flavour, available }) => flavour === "upstream" && available > 0,
    ),
  };
}

/** Leases, and who may hold them. Who works is never worth an error of the command. */
async function readProofs(hub: KubeClient, signal: AbortSignal) {
  const read = Promise.all([listControllerLeases(hub, signal), listBindings(hub, signal)]);
  return await read.catch((error: unknown) =>
    error instanceof ApiError && error.status === 403 ? ("forbidden" as const) : undefined,
  );
}

async function hubTime(hub: KubeClient, hereMs: number, signal: AbortSignal): Promise<number> {
  return await whoAmI(hub, signal).then(
    ({ serverTimeMs }) => serverTimeMs ?? hereMs,
    () => hereMs,
  );
}

/** What a command is about: the clusters of installations, null for the hub itself, and perhaps fleet sets. Without either, the whole fleet. */
export interface Served {
  readonly clusters: readonly (ClusterProfileRef | null)[];
  readonly hasSets: boolean;
}

/** Whether replicas work for these now. Null: it is not known. */
export async function readControllerView(
  served: Served,
  {
    access: { hub, hubTimeoutMs },
    now,
  }: {
    readonly access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">;
    readonly now: () => Date;
  },
  signal: AbortSignal,
): Promise<ControllerView | null> {
  const at = { timeMs: now().getTime(), isRecorded: false };
  const late = withTimeout(systemClock, hubTimeoutMs, signal);
  const facts = await readControllerFacts(hub, at, late);
  return facts === undefined ? null : controllerViewOf(facts, served);
}

/** Whether replicas work for these. Null: it is not known. */
export function controllerViewOf(
  { serving, stopped, isUpstream, isForbidden }: ControllerFacts,
  served: Served,
): ControllerView | null {
  if (isForbidden === true) return notLookedAt;
  if (isUpstream) return null;
  if (serving === undefined) return stoppedView(stopped);
  const needed = partsOf(served, serving.shards);
  const isNeeded = (part: Part): boolean => needed?.has(part) ?? true;
  const unserved = serving.parts.filter((part) => isNeeded(part) && !serving.holders.has(part));
  return unserved.length === 0 ? working : unservedView(serving, unserved);
}

/** The parts of the fleet that serve these; undefined: all. */
function partsOf({ clusters, hasSets }: Served, shards: number): ReadonlySet<Part> | undefined {
  if (clusters.length === 0 && !hasSets) return undefined;
  const own = clusters.map((cluster) => servedBy(cluster, { shards, holders: new Map() }).shard);
  // With one shard the leader serves sets, too.
  const ofSets: readonly Part[] = hasSets ? [shards === 1 ? 0 : "fleet"] : [];
  return new Set<Part>([...own, ...ofSets]);
}

const working: ControllerView = {
  works: true,
  reason: null,
  code: null,
  message: null,
  since: null,
  next: [],
};

const notLookedAt: ControllerView = {
  ...working,
  works: null,
  message:
    "Whether a controller works could not be looked at: Leases or ClusterRoleBindings may not be listed",
};

function stoppedView(stopped: readonly ControllerDeployment[]): ControllerView | null {
  const [first] = stopped;
  if (first === undefined) return null;
  const why = stopped
    .map(
      ({ namespace, name, wanted }) =>
        `Deployment ${namespace}/${name} has 0 of ${wanted} available`,
    )
    .join(", ");
  const namespaces = [...new Set(stopped.map(({ namespace }) => namespace))];
  return idleView(`No controller works: ${why}`, { since: null, namespaces });
}

function unservedView(serving: Serving, unserved: readonly Part[]): ControllerView {
  const { namespace, shards, holders } = serving;
  const leases = unserved.map((part) => serving.leases.get(part));
  const since = sinceOf(leases);
  const what =
    holders.size === 0
      ? "No controller works"
      : `No replica of the controller serves ${partsText(unserved, shards)}`;
  const [first] = unserved;
  const lease = first === undefined ? "" : leaseText(workLease(first, shards), leases[0]);
  const text = `${what}${since === null ? "" : ` since ${since}`}: Lease ${namespace}/${lease}`;
  return idleView(text, { since, namespaces: [namespace] });
}

function idleView(
  message: string,
  { since, namespaces }: { readonly since: string | null; readonly namespaces: readonly string[] },
): ControllerView {
  const next = namespaces.map((one) => words("kubectl", "get", "pods", "-n", one));
  return { works: false, reason: "NoController", code: "KNF1005", message, since, next };
}

function leaseText(name: string, lease: ControllerLease | undefined): string {
  if (lease === undefined) return `${name} does not exist`;
  return lease.holder === ""
    ? `${name} was let go`
    : `${name} of ${replicaName(lease.holder)} has run out`;
}

/** Since when all of these parts are without a replica: the end of the Lease that ended last. */
function sinceOf(leases: readonly (ControllerLease | undefined)[]): string | null {
  const ends = leases.map((lease) => {
    if (lease === undefined) return 0;
    return lease.holder === "" ? lease.renewedAtMs : lease.endsAtMs;
  });
  const latest = Math.max(...ends);
  return latest > 0 ? timestampOf(new Date(latest)) : null;
}
