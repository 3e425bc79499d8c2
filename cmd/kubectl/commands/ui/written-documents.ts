import type { Component } from "../../../../api/component.ts";
import { targetId } from "../../../../api/keys.ts";
import type { ActionInput } from "../../action.ts";
import { Fleet } from "../../fleet/fleet.ts";
import { documentOf } from "../../main/print-report.ts";
import { queryOf } from "../../page/installation-view.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { ReadLimits } from "../../spokes/read-clusters.ts";
import { hubEventsOf, placesOnSpoke, readEvents } from "../events/events.ts";
import { rolloutItemOf, rolloutStatusOf } from "../rollout/rollout-item.ts";
import { statusDetailOf } from "../status/status-item.ts";
import { fleetStatusOf } from "../status/status.ts";
import type { FleetFeed } from "../top/fleet-feed.ts";
import type { TreeNode } from "../tree/tree-node.ts";
import { readTrees } from "../tree/tree.ts";
import { clusterList } from "./clusters.ts";

/** With more installations a file has no documents of single ones: it would be too large to open. */
export const mostInstallations = 300;

interface Sources {
  readonly feed: FleetFeed;
  readonly access: ClusterAccess;
  readonly selection: Selection;
  readonly limits: ReadLimits;
  readonly input: Pick<ActionInput<{ readonly live?: boolean }>, "flags" | "options" | "terminal">;
}

/** Documents by the path under which the server has them, below `/api/v1/`. */
export type Documents = Readonly<Record<string, unknown>>;

/** What the pages of a file show besides the fleet. What cannot be read, or not in time, is left out. */
export async function writtenDocuments(sources: Sources, signal: AbortSignal): Promise<Documents> {
  const { feed, access, input } = sources;
  const { report, sets } = feed.state();
  const { flags, terminal } = input;
  const [clusters, ofInstallations] = await Promise.all([
    orNothing(clusterList({ access, flags, now: terminal.now }, signal)),
    report.items.length > mostInstallations
      ? undefined
      : orNothing(installationDocuments(sources, signal)),
  ]);
  return {
    sets: rolloutStatusOf(sets?.map(rolloutItemOf) ?? null, report),
    ...(clusters === undefined ? {} : { clusters }),
    ...ofInstallations,
  };
}

/** Each cluster is read twice more: once for all trees, once for all Events. */
async function installationDocuments(
  { feed, access, selection, limits, input }: Sources,
  signal: AbortSignal,
): Promise<Documents> {
  const live = input.options.live ?? true;
  const installations = feed.installations();
  const opened = { access, selection, limits };
  const fleet = new Fleet(
    { ...input, args: [] },
    { reachesSpokes: live, selects: true, opened },
    signal,
  );
  const { now } = input.terminal;
  const [trees, list] = await Promise.all([
    live ? orNothing(readTrees(fleet, { all: true, spokeNamespace: undefined })) : undefined,
    orNothing(readEvents(fleet, { types: [], sinceMs: undefined, live })),
  ]);
  const { report } = feed.state();
  const all = installations.flatMap(({ component, reading, item }) => {
    const query = queryOf(item);
    const detail = statusDetailOf(component, reading, null);
    return [
      [`status?${query}`, fleetStatusOf([{ ...item, detail }], [], report)],
      ...(trees === undefined
        ? []
        : [[`tree?${query}`, documentOf("Tree", treeOf(trees, component), now())]]),
      ...(list === undefined
        ? []
        : [[`events?${query}`, documentOf("EventList", eventsOf(list, component), now())]]),
    ];
  });
  return Object.fromEntries(all);
}

type Trees = Awaited<ReturnType<typeof readTrees>>;
type Events = Awaited<ReturnType<typeof readEvents>>;

/** The tree of one installation, as `tree` shows it alone: below its set. */
function treeOf(trees: Trees, { kind, metadata }: Component): Trees {
  const isOwn = (node: TreeNode): boolean =>
    node.kind === kind && node.namespace === metadata.namespace && node.name === metadata.name;
  const items = trees.items.flatMap((root) => {
    if (isOwn(root)) return [root];
    const children = root.children.filter(isOwn);
    return children.length === 0 ? [] : [{ ...root, children }];
  });
  return { ...trees, items };
}

/** The Events of one installation. */
function eventsOf(list: Events, component: Component): Events {
  const { isAbout } = hubEventsOf([component]);
  const id = targetId(component);
  const places = placesOnSpoke([component], id);
  const items = list.items.filter((event) =>
    event.cluster === null
      ? isAbout(event)
      : event.cluster === id && places.includes(event.about.namespace ?? ""),
  );
  const errors = list.errors.filter(({ cluster }) => cluster === null || cluster === id);
  return { ...list, items, errors };
}

function orNothing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  return reading.catch(() => undefined);
}
