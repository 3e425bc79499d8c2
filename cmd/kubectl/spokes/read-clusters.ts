import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { abortable, Follower, timeoutError, TurnWaits } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ClusterProfileRef, Component } from "../../../api/component.ts";
import { managedClusterOf } from "../../../api/delivery.ts";
import { FleetError } from "../../../api/errors.ts";
import { byText } from "../../../api/fields.ts";
import { nameId, targetId } from "../../../api/keys.ts";
import { readProfile } from "../hub/profiles.ts";
import { ownReasons } from "../output/own-reasons.ts";
import { countedReading, type Running } from "../output/progress.ts";
import type { ReportError } from "../output/report.ts";
import type { ClusterAccess, SpokesAccess } from "./cluster-access.ts";
import { readSpokeFacts, type SpokeFacts, type SpokeReading } from "./spoke-facts.ts";
import {
  noProviderFile,
  pullOnly,
  type Reading,
  unreadBecause,
  UnreadError,
  type UnreadSpoke,
} from "./spoke-reading.ts";

/** Limits of a command that reads many clusters. */
export interface ReadLimits {
  /** Clusters read at the same time. */
  readonly concurrency: number;
  /** Time for one cluster, from reading its profile to its last answer. */
  readonly spokeTimeoutMs: number;
  /** Stops at the first cluster that cannot be read. */
  readonly failFast?: boolean;
  /** Called when the read of a cluster starts or ends, with the running ones. */
  readonly onProgress?: (done: number, total: number, running: Running) => void;
}

/** Readings by `targetId` of the components. */
export type Readings = ReadonlyMap<string, SpokeReading>;

interface ReadFactsDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  /** What is read of a cluster at the same time, over the same connection. Must not reject for what a cluster does. */
  readonly beside?: ReadOne<void>;
}

/**
 * Reads every cluster of the components, once each. A cluster that cannot be read becomes an unread reading, and never delays or fails another. After an
 * abort, the clusters that are not done are unread.
 */
export async function readClusters(
  components: readonly Component[],
  { beside, ...deps }: ReadFactsDeps,
  signal: AbortSignal,
): Promise<Readings> {
  const now = deps.access.recordedAt;
  const read: ReadOne<SpokeFacts> = async (cluster, deadline) => {
    const [facts] = await Promise.all([
      readSpokeFacts(cluster.client, { provider: cluster.provider, now }, deadline),
      beside?.(cluster, deadline),
    ]);
    return facts;
  };
  const readings = await readEach(components, { ...deps, read }, signal);
  const pulled = components.filter((one) => isPullOnly(readings.get(targetId(one))));
  if (pulled.length === 0) return readings;
  const { readFeedback } = await import("./feedback.ts");
  const { access, limits } = deps;
  const options = { hub: access.hub, timeoutMs: limits.spokeTimeoutMs };
  const told = new Map(
    await mapLimited(pulled, limits.concurrency, async (component) => {
      return [component.metadata.uid, await readFeedback(component, options, signal)] as const;
    }),
  );
  return new Map(
    [...readings].map(([id, reading]) => [
      id,
      isPullOnly(reading) ? { ...reading, told } : reading,
    ]),
  );
}

function isPullOnly(reading: Reading<unknown> | undefined): reading is UnreadSpoke {
  return reading?.kind === "unread" && reading.reason === "PullOnly";
}

/** Reads from one cluster. `id`: its `targetId`. `provider`: null for the hub itself. */
export type ReadOne<Facts> = (
  cluster: {
    readonly id: string;
    readonly client: KubeClient;
    readonly provider: string | null;
  },
  signal: AbortSignal,
) => Promise<Facts>;

/** A cluster to read. */
export interface ReadTarget {
  /** Its ClusterProfile. Undefined: the hub itself. */
  readonly ref: ClusterProfileRef | undefined;
  /** Whether works bring components to it. */
  readonly isPulled?: boolean;
}

interface ReadDeps<Facts> {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly read: ReadOne<Facts>;
}

/** The clusters of components, once each. */
export function targetsOf(components: readonly Component[]): readonly ReadTarget[] {
  return [...Map.groupBy(components, targetId).values()].map((own) => ({
    ref: own[0]?.spec?.clusterProfileRef,
    isPulled: own.some((one) => managedClusterOf(one) !== undefined),
  }));
}

/** Like `readClusters`, with a function of the caller for each cluster. */
export function readEach<Facts>(
  components: readonly Component[],
  deps: ReadDeps<Facts>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Reading<Facts>>> {
  return readTargets(targetsOf(components), deps, signal);
}

/** Reads clusters, and has a reading for each by its id: `namespace/name` of its profile, empty for the hub. */
export async function readTargets<Facts>(
  targets: readonly ReadTarget[],
  { access, limits, read }: ReadDeps<Facts>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Reading<Facts>>> {
  const isRemote = targets.some(({ ref }) => ref !== undefined);
  const spokes = isRemote ? await access.spokes() : { reach: undefined };
  const counted = countedReading(targets.length, limits.onProgress);
  using failed = new Follower(signal);
  const readings = await mapLimited(targets, limits.concurrency, async (target) => {
    const { ref } = target;
    const timeoutMs = limits.spokeTimeoutMs;
    const id = ref === undefined ? "" : nameId(ref);
    const reading = await counted(id === "" ? "<hub>" : id, () =>
      readCluster({ id, ref }, { access, spokes, timeoutMs, read }, failed.signal),
    );
    if (limits.failFast === true && reading.kind === "unread") failed.abort();
    return [id, target.isPulled === true ? asPullOnly(reading) : reading] as const;
  });
  return new Map(readings);
}

/** Whether works bring one of the components to a cluster. */
export function isPulled(components: readonly Component[], id: string): boolean {
  return components.some((one) => targetId(one) === id && managedClusterOf(one) !== undefined);
}

/** The reading of a cluster that pulls: where the hub has no way to it, nothing is wrong. */
function asPullOnly<Facts>(reading: Reading<Facts>): Reading<Facts> {
  const hasNoWay =
    reading.kind === "unread" &&
    (reading.state === "NoAccess" || reading.reason === "NoProviderFile");
  return hasNoWay ? { kind: "unread", ...pullOnly } : reading;
}

/** An error for each cluster that could not be read, by its name. */
export function unreadErrors(
  readings: ReadonlyMap<string, Reading<unknown>>,
): readonly ReportError[] {
  return [...readings]
    .flatMap(([id, reading]) => {
      if (reading.kind === "read") return [];
      const { reason, message } = reading;
      return [{ reason, message, cluster: id === "" ? null : id }];
    })
    .toSorted(byText(({ cluster }) => cluster ?? ""));
}

interface ClusterDeps<Facts> {
  readonly access: ClusterAccess;
  readonly spokes: SpokesAccess;
  readonly timeoutMs: number;
  readonly read: ReadOne<Facts>;
}

interface Target {
  readonly id: string;
  readonly ref: ClusterProfileRef | undefined;
}

async function readCluster<Facts>(
  { id, ref }: Target,
  { access, spokes, timeoutMs, read }: ClusterDeps<Facts>,
  signal: AbortSignal,
): Promise<Reading<Facts>> {
  if (signal.aborted) return interrupted;
  if (ref !== undefined && spokes.reach === undefined) {
    return { kind: "unread", ...noProviderFile(spokes.missing) };
  }
  // The time in which a plugin waits for its place does not count for its spoke.
  const waits = new TurnWaits(systemClock);
  using limit = waits.limit(signal, { ms: timeoutMs, reason: timeoutError() });
  const deadline = limit.signal;
  try {
    const facts =
      ref === undefined
        ? read({ id, client: access.hub, provider: null }, deadline)
        : readSpoke({ id, ref }, { access, spokes, read, waits }, deadline);
    // Does not wait for the end of the connection, which may take longer than the time of the spoke.
    return { kind: "read", facts: await abortable(facts, deadline) };
  } catch (error) {
    return readingAfter(error, { signal, deadline, timeoutMs });
  }
}

function readingAfter(
  error: unknown,
  context: {
    readonly signal: AbortSignal;
    readonly deadline: AbortSignal;
    readonly timeoutMs: number;
  },
): UnreadSpoke {
  const { signal, deadline, timeoutMs } = context;
  if (signal.aborted) return interrupted;
  // An aborted request may throw any error. The cause is the deadline.
  return unreadBecause(deadline.aborted ? deadline.reason : error, timeoutMs);
}

async function readSpoke<Facts>(
  { id, ref }: { readonly id: string; readonly ref: ClusterProfileRef },
  {
    access: { hub },
    spokes: { reach },
    read,
    waits,
  }: Pick<ClusterDeps<Facts>, "access" | "spokes" | "read"> & { readonly waits: TurnWaits },
  signal: AbortSignal,
): Promise<Facts> {
  const profile = await readProfile(ref, hub, signal);
  if (reach === undefined) throw new Error("Unreachable: checked by the caller");
  await using spoke = await reach(profile, signal, waits);
  try {
    return await read({ id, client: spoke.client, provider: spoke.provider }, signal);
  } catch (error) {
    spoke.giveUp?.();
    throw error;
  }
}

const interrupted: UnreadSpoke = {
  kind: "unread",
  state: "Unknown",
  reason: "Interrupted",
  message: ownReasons.Interrupted,
};

/** Runs a task for every item, at most `limit` at a time. Resolves with the results in the order of the items. */
export async function mapLimited<Item, Result>(
  items: readonly Item[],
  limit: number,
  task: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of queue) results[at] = await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/** A cluster that a command stays connected to. */
export interface LastingSpoke {
  readonly client: KubeClient;
  /** Closes without waiting: closing a connection to a silent server takes seconds. */
  readonly close: () => void;
}

/** The access of a command, and whether works bring a component to the cluster. */
interface LastingAccess extends Pick<ClusterAccess, "hub" | "spokes"> {
  readonly isPulled?: boolean;
}

/** Connects to the cluster of a ClusterProfile, or without one to the hub. Throws FleetError, UnreadError and the errors of KubeClient. */
export async function openLastingSpoke(
  ref: ClusterProfileRef | undefined,
  { isPulled: pulls = false, ...access }: LastingAccess,
  signal: AbortSignal,
): Promise<LastingSpoke> {
  try {
    return await connectLasting(ref, access, signal);
  } catch (error) {
    const isRefusal = error instanceof FleetError || error instanceof UnreadError;
    if (!pulls || !isRefusal || signal.aborted) throw error;
    const reading = asPullOnly(unreadBecause(error, 0));
    throw reading.kind === "unread" ? new UnreadError(reading) : error;
  }
}

async function connectLasting(
  ref: ClusterProfileRef | undefined,
  { hub, spokes }: LastingAccess,
  signal: AbortSignal,
): Promise<LastingSpoke> {
  if (ref === undefined) return { client: hub, close: () => undefined };
  const { reach, missing } = await spokes();
  signal.throwIfAborted();
  if (reach === undefined) throw new UnreadError(noProviderFile(missing));
  const spoke = await reach(await readProfile(ref, hub, signal), signal);
  return {
    client: spoke.client,
    close: () => void spoke[Symbol.asyncDispose]().then(undefined, () => undefined),
  };
}
