import { backoffMs } from "../../../../access/time/backoff.ts";
import { pause } from "../../../../access/time/clock.ts";
import { Follower, isAborted, withTimeout } from "../../../../access/time/deadline.ts";
import { Semaphore } from "../../../../access/time/semaphore.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import { targetId } from "../../../../api/keys.ts";
import { checkStreamFlags } from "../../action.ts";
import {
  columns,
  type EventFilter,
  type EventItem,
  hubEventsOf,
  isAsked,
  placesOnSpoke,
  readEvents,
} from "../../fleet/events.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { followComponents } from "../../hub/hub-changes.ts";
import { following } from "../../main/following.ts";
import type { Report } from "../../main/report.ts";
import { type ReportError, troubleOf, Troubles } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { isRemote } from "../../spokes/live-view.ts";
import { isPulled, openLastingSpoke, type ReadLimits } from "../../spokes/read-clusters.ts";
import { NamespaceWatches } from "./namespace-watches.ts";

/** The present Events, and then each new or repeated Event. */
export async function followEvents(fleet: Fleet, filter: EventFilter): Promise<Report<EventItem>> {
  checkStreamFlags(fleet.flags, "-w");
  const { items, errors } = await readEvents(fleet, filter);
  const selection = await fleet.selection();
  const shown = new Set<string>();
  const isNew = (item: EventItem): boolean => {
    const key = keyOf(item);
    if (!isAsked(item, filter, fleet.now()) || shown.has(key)) return false;
    remember(key, shown);
    return true;
  };
  const first = items.filter(isNew);
  const missing = errors.filter(({ reason }) => reason === "NotFound");
  const watching = {
    access: await fleet.access(),
    selection,
    live: filter.live,
    limits: fleet.flags,
  };
  const report = { summary: null, errors: [], columns };
  return {
    ...report,
    items: first,
    follow: following(selection, missing, (show, onTrouble) => {
      const onEvent = (item: EventItem): void => {
        if (isNew(item)) show({ ...report, items: [item] });
      };
      return watchEvents({ ...watching, onEvent, onTrouble }, fleet.signal);
    }),
  };
}

// A fleet has fewer Events at a time. The limit keeps a watch of several days from growing.
const mostRemembered = 50_000;

function remember(key: string, shown: Set<string>): void {
  shown.add(key);
  const [oldest] = shown;
  if (shown.size > mostRemembered && oldest !== undefined) shown.delete(oldest);
}

/** Key of an Event to print it once; a higher count makes another key. */
function keyOf({ cluster, about, reason, message, time, count }: EventItem): string {
  return JSON.stringify([cluster, about.uid, about.name, reason, message, time, count]);
}

const backoff = { firstMs: 5_000, longestMs: 60_000 };

interface Watching {
  readonly access: ClusterAccess;
  readonly selection: Selection;
  /** False: the hub alone. */
  readonly live: boolean;
  readonly limits: Pick<ReadLimits, "concurrency" | "spokeTimeoutMs">;
  /** Called with every present and new Event, also with one that was reported before. */
  readonly onEvent: (event: EventItem) => void;
  /** Called once for a failure of a cluster, for as long as it lasts. */
  readonly onTrouble: (error: ReportError) => void;
}

/**
 * Watches the Events about the selected components, on the hub and on their clusters, until the signal aborts. Components that are added later are
 * included. A watch that ends goes on where it was; an unreachable cluster is tried again after 5 s to a minute. Never rejects.
 */
async function watchEvents(watching: Watching, signal: AbortSignal): Promise<void> {
  const { access, selection, live, onEvent } = watching;
  const troubles = new Troubles(watching.onTrouble);
  const turns = new Semaphore(watching.limits.concurrency);
  let about = hubEventsOf([]);
  const onHub = (event: EventItem): void => {
    if (about.isAbout(event)) onEvent(event);
  };
  const tell = (error: unknown): void =>
    troubles.report(troubleOf(error, null, access.hubTimeoutMs));
  const place = { client: access.hub, id: null };
  using hub = new NamespaceWatches(place, { onEvent: onHub, onError: tell }, signal);
  const spokes = new Map<string, FollowedSpoke>();
  const work: Promise<void>[] = [];
  const onComponents = (components: readonly Component[]): void => {
    about = hubEventsOf(components);
    hub.follow(about.namespaces);
    // Some Events arrived before their component.
    hub.tellAgain();
    const remote = new Map(
      (live ? components.filter(isRemote) : []).map((one) => [targetId(one), one]),
    );
    for (const [id, spoke] of spokes) {
      if (remote.has(id)) continue;
      spoke.stop.abort();
      spokes.delete(id);
    }
    for (const [id, { spec }] of remote) {
      const known = spokes.get(id);
      const namespaces = placesOnSpoke(components, id);
      if (known !== undefined) {
        known.namespaces = namespaces;
        known.watches?.follow(namespaces);
        continue;
      }
      const stop = new AbortController();
      const ref = spec?.clusterProfileRef;
      const pulls = isPulled(components, id);
      const spoke = { id, ref, isPulled: pulls, stop, namespaces, watches: undefined };
      spokes.set(id, spoke);
      work.push(watchSpoke(spoke, { ...watching, troubles, turns }, signal));
    }
  };
  const onTrouble = (error: ReportError): void => troubles.report(error);
  await followComponents({ access, selection, onComponents, onTrouble }, signal);
  await Promise.all(work);
}

interface FollowedSpoke {
  readonly id: string;
  readonly ref: NonNullable<Component["spec"]>["clusterProfileRef"];
  readonly isPulled: boolean;
  readonly stop: AbortController;
  namespaces: readonly string[];
  watches: NamespaceWatches | undefined;
}

interface Shared extends Watching {
  readonly troubles: Troubles;
  /** Limits how many clusters are connected to at the same time. */
  readonly turns: Semaphore;
}

/** Connects to a cluster and watches there, again and again until the cluster is no longer selected. */
async function watchSpoke(
  spoke: FollowedSpoke,
  shared: Shared,
  signal: AbortSignal,
): Promise<void> {
  const { id } = spoke;
  const { limits, troubles } = shared;
  using follower = new Follower(signal, spoke.stop.signal);
  const end = follower.signal;
  let failures = 0;
  while (!end.aborted) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after another
      await watchOnce(spoke, { ...shared, onSynced: () => (failures = 0) }, end);
    } catch (error) {
      if (isAborted(end)) return;
      troubles.report(troubleOf(error, id, limits.spokeTimeoutMs));
    }
    failures += 1;
    // oxlint-disable-next-line no-await-in-loop -- one attempt after another
    await pause(systemClock, backoffMs(backoff, failures), end);
  }
}

/** Watches until the signal aborts or the connection fails repeatedly. Throws what a failed attempt to connect throws. */
async function watchOnce(
  spoke: FollowedSpoke,
  { access, limits, troubles, turns, ...shared }: Shared & { readonly onSynced: () => void },
  signal: AbortSignal,
): Promise<void> {
  const { id, ref } = spoke;
  const opened = await takeTurn(turns, signal, async () => {
    const deadline = withTimeout(systemClock, limits.spokeTimeoutMs, signal);
    try {
      return await openLastingSpoke(ref, { ...access, isPulled: spoke.isPulled }, deadline);
    } catch (error) {
      throw deadline.aborted ? deadline.reason : error;
    }
  });
  try {
    const handlers = {
      onEvent: shared.onEvent,
      onError: (error: unknown) => troubles.report(troubleOf(error, id, limits.spokeTimeoutMs)),
      onSynced: () => {
        troubles.clear(id);
        shared.onSynced();
      },
    };
    using watches = new NamespaceWatches({ client: opened.client, id }, handlers, signal);
    spoke.watches = watches;
    watches.follow(spoke.namespaces);
    await watches.lost;
  } finally {
    spoke.watches = undefined;
    opened.close();
  }
}

async function takeTurn<Result>(
  turns: Semaphore,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  using _place = await turns.enter(signal);
  return await work();
}
