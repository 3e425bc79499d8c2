import type { Component } from "../../../../api/component.ts";
import type { ActionInput } from "../../action.ts";
import { rulesOfHub } from "../../compare/controller-rules.ts";
import { namespaceOfHub } from "../../compare/rendering-options.ts";
import { queryOf } from "../../page/installation-view.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { clusterIdOf, type ReadLimits } from "../../spokes/read-clusters.ts";
import { type EventList, events, hubEventsOf, placesOnSpoke } from "../events/events.ts";
import { rolloutStatusOf } from "../rollout/rollout-item.ts";
import { statusDetailOf } from "../status/status-item.ts";
import { fleetStatusOf } from "../status/status.ts";
import type { FleetFeed } from "../top/fleet-feed.ts";
import { openWayDeps } from "../tree/open-way.ts";
import type { TreeNode } from "../tree/tree-node.ts";
import { tree, type TreeReport } from "../tree/tree.ts";
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
    sets: rolloutStatusOf(sets, report),
    ...(clusters === undefined ? {} : { clusters }),
    ...ofInstallations,
  };
}

/** Each cluster is read twice more: once for all trees, once for all Events. */
async function installationDocuments(
  { feed, access, selection, limits, input }: Sources,
  signal: AbortSignal,
): Promise<Documents> {
  const { flags, options, terminal } = input;
  const { env, now } = terminal;
  const live = options.live ?? true;
  const installations = feed.installations();
  const way = await openWayDeps(access, { flags, env }, signal);
  const namespaceOf = namespaceOfHub({}, rulesOfHub(access, signal));
  const filter = { types: [], sinceMs: undefined };
  const [trees, list] = await Promise.all([
    live
      ? orNothing(tree(selection, { access, way, limits, namespaceOf, now }, signal))
      : undefined,
    orNothing(events({ selection, filter }, { access, limits, live, now }, signal)),
  ]);
  const { report } = feed.state();
  const all = installations.flatMap(({ component, reading, item }) => {
    const query = queryOf(item);
    const detail = statusDetailOf(component, reading, null);
    return [
      [`status?${query}`, fleetStatusOf([{ ...item, detail }], [], report)],
      ...(trees === undefined ? [] : [[`tree?${query}`, treeOf(trees, component)]]),
      ...(list === undefined ? [] : [[`events?${query}`, eventsOf(list, component)]]),
    ];
  });
  return Object.fromEntries(all);
}

/** The tree of one installation, as `tree` shows it alone: below its set. */
function treeOf(trees: TreeReport, { kind, metadata }: Component): TreeReport {
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
function eventsOf(list: EventList, component: Component): EventList {
  const { isAbout } = hubEventsOf([component]);
  const id = clusterIdOf(component);
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
