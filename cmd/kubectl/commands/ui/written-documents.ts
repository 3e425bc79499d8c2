import type { Component } from "../../../../api/component.ts";
import { targetId } from "../../../../api/keys.ts";
import { limitsOf } from "../../action.ts";
import { hubEventsOf, placesOnSpoke, readEvents } from "../../fleet/events.ts";
import type { FleetFeed } from "../../fleet/fleet-feed.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { statusDetailOf } from "../../fleet/status-item.ts";
import { fleetStatusOf } from "../../fleet/status.ts";
import type { TreeNode } from "../../fleet/tree/tree-node.ts";
import { readTrees } from "../../fleet/tree/tree.ts";
import { rolloutItemOf, rolloutStatusOf } from "../../hub/rollout-item.ts";
import { documentOf } from "../../main/print-report.ts";
import { clusterList } from "../../page/clusters.ts";
import { queryOf } from "../../page/installation-view.ts";

/** With more installations a file has no documents of single ones: it would be too large to open. */
export const mostInstallations = 300;

/** Documents by the path under which the server has them, below `/api/v1/`. */
export type Documents = Readonly<Record<string, unknown>>;

/** What the pages of a file show besides the fleet. What cannot be read, or not in time, is left out. */
export async function writtenDocuments(fleet: Fleet, feed: FleetFeed): Promise<Documents> {
  const { flags, now, signal } = fleet;
  const access = await fleet.lastingAccess();
  const { report, sets } = feed.state();
  const [clusters, ofInstallations] = await Promise.all([
    orNothing(clusterList({ access, flags, now }, signal)),
    report.items.length > mostInstallations
      ? undefined
      : orNothing(installationDocuments(fleet, feed)),
  ]);
  return {
    sets: rolloutStatusOf(sets?.map(rolloutItemOf) ?? null, report),
    ...(clusters === undefined ? {} : { clusters }),
    ...ofInstallations,
  };
}

/** Each cluster is read twice more: once for all trees, once for all Events. */
async function installationDocuments(given: Fleet, feed: FleetFeed): Promise<Documents> {
  const { flags, now, reachesSpokes: live } = given;
  const installations = feed.installations();
  const opened = {
    access: await given.lastingAccess(),
    selection: await given.selection(),
    limits: limitsOf(flags, undefined),
  };
  const fleet = given.with({ opened });
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
