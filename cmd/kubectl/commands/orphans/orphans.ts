import { allKinds, type ClusterProfileRef, type Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import { targetIdOf } from "../../../../controller/component-identity.ts";
import { readHubId } from "../../compare/target-installation.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { listInstallations } from "../../hub/installations.ts";
import { listSelectedProfiles } from "../../hub/profiles.ts";
import { type ReportError, reportOf, stampAt } from "../../output/report.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import {
  readEach,
  type ReadLimits,
  type ReadOne,
  placeholderComponent,
  unreadErrors,
} from "../../spokes/read-clusters.ts";
import { clusterFindings } from "./cluster-findings.ts";
import { hubFindings } from "./hub-findings.ts";
import { type OrphanItem, type OrphanList, readTraces, type Traces } from "./orphan.ts";

interface OrphansDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly flags: Pick<Flags, "cluster" | "on">;
  /** Installations whose clusters are read; absent: all clusters. */
  readonly only?: readonly Component[];
  /** False: only the hub is read. */
  readonly live: boolean;
  readonly now: () => Date;
}

/**
 * Finds leftovers on all clusters with a ClusterProfile, and what is in the way of the components of the hub. Throws only when the hub cannot be read; a
 * cluster that cannot be read is in `errors`. Changes nothing.
 */
export async function orphans(deps: OrphansDeps, signal: AbortSignal): Promise<OrphanList> {
  const { access, limits, flags, only, live, now } = deps;
  const everywhere = { kinds: allKinds, names: [], namespace: undefined };
  const components = await listInstallations(access, everywhere, signal);
  const hubId = await readHubId(access, signal);
  const stands = live ? await listStandIns(deps, signal) : [];
  const readings = await readEach(stands, { access, limits, read: readOne }, signal);
  const nowMs = now().getTime();
  const seen = new Map(
    [...readings].flatMap(([id, reading]) =>
      reading.kind === "read" ? [[id, reading.facts] as const] : [],
    ),
  );
  const read = new Set([...seen].flatMap(([id, { denied }]) => (denied.length === 0 ? [id] : [])));
  const clusters = sameClusters(seen);
  const found = clusters.flatMap(([names, traces]) => {
    const targets = new Set(components.map(targetIdOf));
    const [first = ""] = [...names.intersection(targets), ...names];
    const known = { cluster: clusterOf(first), names, read, components, hubId, nowMs };
    return clusterFindings(traces, known);
  });
  const isWhole = flags.cluster === undefined && flags.on === undefined;
  const ofHub = isWhole ? hubFindings(components, nowMs).filter(isAsked(only)) : [];
  // Where a component of a wrong form is installed is not known: it is there, so it has left nothing.
  const isLeft = ({ component }: OrphanItem): boolean =>
    access.malformed?.has(component?.uid ?? "") !== true;
  const items = [...ofHub, ...found.filter(isLeft)].toSorted(byText(keyOf));
  const unread = unreadErrors(readings);
  const denied = [...readings].flatMap(([id, reading]) =>
    reading.kind === "read" ? deniedErrors(id, reading.facts) : [],
  );
  return reportOf("OrphanList", stampAt(now()), {
    complete: unread.length + denied.length === 0,
    summary: {
      findings: items.length,
      components: components.length,
      clusters: clusters.length + readings.size - seen.size,
      unread: unread.length,
    },
    items,
    errors: [...denied, ...unread],
  });
}

/** Whether a finding of the hub is about one of the installations. */
function isAsked(only: readonly Component[] | undefined): (item: OrphanItem) => boolean {
  return ({ object: { kind, namespace, name } }) =>
    only === undefined ||
    only.some(
      (one) =>
        one.kind === kind && one.metadata.namespace === namespace && one.metadata.name === name,
    );
}

const readOne: ReadOne<Traces> = ({ client }, signal) => readTraces(client, signal);

/** One placeholder component for each cluster to read, because leftovers have no component. */
async function listStandIns(
  { access, flags, only }: OrphansDeps,
  signal: AbortSignal,
): Promise<readonly Component[]> {
  if (only !== undefined) {
    const refs = new Map(only.map((one) => [targetIdOf(one), one.spec?.clusterProfileRef]));
    return [...refs.values()].map(placeholderComponent);
  }
  const profiles = await listSelectedProfiles(
    { access, flags: { ...flags, namespace: undefined } },
    signal,
  );
  const refs = profiles.map(({ metadata: { namespace, name } }) => ({ namespace, name }));
  const isHub = flags.on === undefined && ["hub", "<hub>", undefined].includes(flags.cluster);
  return [...(isHub ? [placeholderComponent(undefined)] : []), ...refs.map(placeholderComponent)];
}

function clusterOf(id: string): ClusterProfileRef | null {
  const [namespace = "", name = ""] = id.split("/");
  return id === "" ? null : { namespace, name };
}

function deniedErrors(id: string, { denied }: Traces): readonly ReportError[] {
  if (denied.length === 0) return [];
  const message = `These may not be listed: ${denied.join(", ")}`;
  return [{ reason: "Forbidden", message, cluster: id === "" ? null : id }];
}

function keyOf({ cluster, object, finding }: OrphanItem): string {
  const place = [cluster?.namespace, cluster?.name, object.namespace, object.kind, object.name];
  return [...place, finding].join("\u0000");
}

/** 1 for a finding, 3 when a cluster could not be read and nothing was found. */
export function orphansExitCode({ items, complete }: OrphanList): ExitCode {
  if (items.length > 0) return exitCodes.unhealthy;
  return complete ? exitCodes.fine : exitCodes.incomplete;
}

/**
 * Groups the names of read clusters by cluster: several ClusterProfiles may lead to one cluster, also to the hub. Names under which the same `kube-system`, or another
 * object with the same uid, was read are one cluster, because no uid is used twice.
 */
export function sameClusters(
  traces: ReadonlyMap<string, Traces>,
): readonly (readonly [ids: ReadonlySet<string>, traces: Traces])[] {
  const groups: { ids: Set<string>; uids: Set<string>; traces: Traces }[] = [];
  for (const [id, seen] of traces) {
    const uids = uidsOf(seen);
    const same = groups.filter((group) => !group.uids.isDisjointFrom(uids));
    const [first, ...others] = same;
    if (first === undefined) {
      groups.push({ ids: new Set([id]), uids, traces: seen });
      continue;
    }
    first.ids = new Set([...same.flatMap(({ ids }) => [...ids]), id]);
    first.uids = new Set([...same.flatMap((group) => [...group.uids]), ...uids]);
    first.traces = mostOf([...same.map((group) => group.traces), seen]);
    for (const other of others) groups.splice(groups.indexOf(other), 1);
  }
  return groups.map((group) => [group.ids, group.traces]);
}

function uidsOf({ clusterUid, anchors, marked, guarded }: Traces): Set<string> {
  const uids = [...anchors, ...marked, ...guarded].map(({ metadata }) => metadata.uid);
  return new Set([...(clusterUid === undefined ? [] : [clusterUid]), ...uids]);
}

/** The traces that were read with the identity that may list most. */
function mostOf(all: readonly Traces[]): Traces {
  return all.reduce((best, one) => (one.denied.length < best.denied.length ? one : best));
}
