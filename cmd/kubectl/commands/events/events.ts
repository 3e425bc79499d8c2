import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { namespacesOf } from "../../compare/rendering-options.ts";
import { type EventFact, eventFactOf, newestLast } from "../../hub/event-fact.ts";
import { selectInstallations } from "../../hub/installations.ts";
import { notFoundErrors, type ReportDocument, reportOf, stampAt } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import {
  clusterIdOf,
  readEach,
  type ReadLimits,
  type ReadOne,
  unreadErrors,
} from "../../spokes/read-clusters.ts";

/** One Event of the hub or of a spoke. */
export interface EventItem extends EventFact {
  /** `namespace/name` of the ClusterProfile of the cluster that has it; null for the hub. */
  readonly cluster: string | null;
}

interface EventSummary {
  readonly events: number;
  readonly warnings: number;
  readonly clusters: number;
  readonly unread: number;
}

export type EventList = ReportDocument<"EventList", EventSummary, EventItem>;

export interface EventFilter {
  /** Empty: all. */
  readonly types: readonly string[];
  /** Greatest age, in ms; undefined: any. */
  readonly sinceMs: number | undefined;
}

interface EventsDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly live: boolean;
  readonly now: () => Date;
}

/** The Events of the selected installations, oldest first. Throws only when the hub cannot be read. */
export async function events(
  { selection, filter }: { readonly selection: Selection; readonly filter: EventFilter },
  { access, limits, live, now }: EventsDeps,
  signal: AbortSignal,
): Promise<EventList> {
  const { components, missing } = await selectInstallations(access, selection, signal);
  const remote = components.filter(({ spec }) => spec?.clusterProfileRef !== undefined);
  const [onHub, readings] = await Promise.all([
    readHubEvents(components, access, signal),
    readEach(live ? remote : [], { access, limits, read: spokeEvents(remote) }, signal),
  ]);
  const onSpokes = [...readings].flatMap(([cluster, reading]) =>
    reading.kind === "read" ? reading.facts.map((fact) => ({ ...fact, cluster })) : [],
  );
  const items = newestLast([...onHub, ...onSpokes]).filter((item) => isAsked(item, filter, now()));
  const errors = unreadErrors(readings);
  return reportOf("EventList", stampAt(now()), {
    complete: errors.length === 0,
    summary: {
      events: items.length,
      warnings: items.filter(({ type }) => type === "Warning").length,
      clusters: readings.size,
      unread: errors.length,
    },
    items,
    errors: [...notFoundErrors(missing), ...errors],
  });
}

/** Whether an Event is one that the flags ask for. */
export function isAsked(
  { type, time }: EventItem,
  { types, sinceMs }: EventFilter,
  now: Date,
): boolean {
  if (types.length > 0 && !types.includes(type.toLowerCase())) return false;
  return sinceMs === undefined || now.getTime() - Date.parse(time ?? "") <= sinceMs;
}

export const eventResource = knownResource("v1", "Event");

/** Events about the components, by uid, and about their ClusterProfiles, by name. */
async function readHubEvents(
  components: readonly Component[],
  { hub, hubTimeoutMs }: ClusterAccess,
  signal: AbortSignal,
): Promise<readonly EventItem[]> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const { namespaces, isAbout } = hubEventsOf(components);
  const lists = await Promise.all(namespaces.map((place) => listEvents(hub, place, deadline)));
  return lists
    .flat()
    .map((event): EventItem => ({ ...eventFactOf(event), cluster: null }))
    .filter(isAbout);
}

/** Namespaces of Events on the hub, and which of the Events are about the components. */
export function hubEventsOf(components: readonly Component[]): {
  readonly namespaces: readonly string[];
  readonly isAbout: (event: EventFact) => boolean;
} {
  const uids = new Set(components.map(({ metadata }) => metadata.uid));
  const profiles = new Set(components.map(clusterIdOf));
  const locals = components.filter(({ spec }) => spec?.clusterProfileRef === undefined);
  const homes = new Set(locals.map(({ metadata }) => metadata.namespace));
  return {
    namespaces: [...new Set(components.flatMap(placesOnHub))],
    isAbout: ({ about: { kind, namespace, name, uid } }) => {
      if (uid !== null && uids.has(uid)) return true;
      if (kind === "ClusterProfile") return profiles.has(`${namespace ?? ""}/${name ?? ""}`);
      return homes.has(namespace ?? "") && isWorkload(kind);
    },
  };
}

function placesOnHub({ metadata, spec }: Component): readonly string[] {
  const ref = spec?.clusterProfileRef;
  return ref === undefined ? [metadata.namespace] : [metadata.namespace, ref.namespace];
}

/** The namespaces of the cluster with this id in which the components may be installed. */
export function placesOnSpoke(components: readonly Component[], id: string): readonly string[] {
  return namespacesOf(components.filter((component) => clusterIdOf(component) === id));
}

const workloads = [
  "Deployment",
  "ReplicaSet",
  "Pod",
  "Job",
  "HorizontalPodAutoscaler",
  "StatefulSet",
];

function isWorkload(kind: string | null): boolean {
  return workloads.includes(kind ?? "");
}

/** Reads all Events of the namespaces of a cluster's installations. */
function spokeEvents(components: readonly Component[]): ReadOne<readonly EventFact[]> {
  return async ({ id, client }, signal) => {
    const places = placesOnSpoke(components, id);
    const lists = await Promise.all(places.map((place) => listEvents(client, place, signal)));
    return lists.flat().map(eventFactOf);
  };
}

async function listEvents(
  client: Pick<KubeClient, "list">,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  return (await client.list({ resource: eventResource, namespace }, {}, signal)).items;
}
