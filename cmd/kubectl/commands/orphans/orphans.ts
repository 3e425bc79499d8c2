import { allKinds, type ClusterProfileRef, type Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { targetId } from "../../../../api/keys.ts";
import { readHubId } from "../../compare/target-installation.ts";
import { exitCodes, UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { listInstallations } from "../../hub/installations.ts";
import { listSelectedProfiles } from "../../hub/profiles.ts";
import type { Report } from "../../main/report.ts";
import { type Columns, onCluster, shortened, toned, wide } from "../../output/columns.ts";
import { objectLine } from "../../output/names.ts";
import { countOf } from "../../output/notes.ts";
import type { ReportError } from "../../output/report.ts";
import { commandsOf, numberedSteps, withHubSteps } from "../../output/steps.ts";
import type { ReadTarget } from "../../spokes/read-clusters.ts";
import { clusterFindings } from "./cluster-findings.ts";
import { hubFindings } from "./hub-findings.ts";
import { type OrphanItem, readTraces, type Traces } from "./orphan.ts";

/**
 * Finds leftovers on all clusters with a ClusterProfile, and what is in the way of the components of the hub. Throws only when the hub cannot be read; a
 * cluster that cannot be read is in `errors`. Changes nothing. `live`: false reads the hub alone.
 */
export async function findOrphans(fleet: Fleet, live: boolean): Promise<Report<OrphanItem>> {
  const { flags, signal } = fleet;
  if (flags.recorded?.isWhole === false) throw new UsageError(partOnly, wholeSteps);
  const access = await fleet.access();
  // Without names all clusters are read, also those without an installation.
  const selected = fleet.args.length === 0 ? undefined : await fleet.installations();
  const everywhere = { kinds: allKinds, names: [], namespace: undefined };
  const components = await listInstallations(access, everywhere, signal);
  const hubId = await readHubId(access, signal);
  const targets = live ? await targetsFor(fleet, selected?.components) : [];
  const reading = await fleet.read(targets, ({ client }, deadline) => readTraces(client, deadline));
  const nowMs = fleet.now().getTime();
  const seen = new Map(reading.all);
  const read = new Set([...seen].flatMap(([id, { denied }]) => (denied.length === 0 ? [id] : [])));
  const clusters = sameClusters(seen);
  const ids = new Set(components.map(targetId));
  const found = clusters.flatMap(([names, traces]) => {
    const [first = ""] = [...names.intersection(ids), ...names];
    const known = { cluster: clusterOf(first), names, read, components, hubId, nowMs };
    return clusterFindings(traces, known);
  });
  const isWhole = flags.cluster === undefined && flags.on === undefined;
  const ofHub = isWhole ? hubFindings(components, nowMs) : [];
  // Where a component of a wrong form is installed is not known: it is there, so it has left nothing.
  const left = found.filter(
    ({ component }) => access.malformed?.has(component?.uid ?? "") !== true,
  );
  const items = [...ofHub.filter(isAsked(selected?.components)), ...left].toSorted(byText(keyOf));
  const denied = [...seen].flatMap(([id, traces]) => deniedErrors(id, traces));
  const missing = selected?.missing ?? [];
  const summary = {
    findings: items.length,
    components: components.length,
    clusters: clusters.length + reading.readings.size - seen.size,
    unread: reading.unread.length,
  };
  // The steps are for the clusters themselves, also when the findings come from a bundle.
  const steps = withHubSteps(items, commandsOf({ ...flags, bundle: undefined }));
  return {
    items: steps,
    summary,
    errors: [...missing, ...denied, ...reading.unread],
    ...(items.length + missing.length > 0 ? { exitCode: exitCodes.unhealthy } : {}),
    columns,
    name: ({ cluster, object }) => objectLine(cluster, object),
    notes: (sorted) => notesOf(sorted, summary),
    advises: false,
  };
}

const partOnly =
  "The bundle is of a part of the fleet: what is left over shows only where all of it is known";
const wholeSteps = ["kubectl knfleet gather -A -o fleet.tgz"];

const columns: Columns<OrphanItem> = {
  CLUSTER: onCluster(({ cluster }) => cluster),
  FINDING: ({ finding }) => toned(finding === "AnotherHub" ? "warning" : "bad", finding),
  KIND: ({ object }) => object.kind,
  NAMESPACE: ({ object }) => object.namespace,
  NAME: ({ object }) => object.name,
  OBJECTS: wide(({ objects }) => objects),
  UID: wide(({ component }) => component?.uid),
  MESSAGE: shortened(({ message }) => message),
};

const shownSteps = 5;

function notesOf(
  items: readonly OrphanItem[],
  {
    findings,
    components,
    clusters,
  }: Readonly<Record<"findings" | "components" | "clusters", number>>,
): readonly string[] {
  const looked = `${countOf(components, "component")} and ${countOf(clusters, "cluster")} looked at`;
  const steps = items
    .slice(0, shownSteps)
    .flatMap(({ finding, object, next }) => [
      `${finding} ${object.kind} ${plainText(object.name)}:`,
      ...numberedSteps(next),
    ]);
  const rest = items.length - shownSteps;
  return [
    `${findings === 0 ? "Nothing is left over" : `${findings} found`}, ${looked}. Nothing was deleted.`,
    ...steps,
    ...(rest > 0 ? [`… and ${rest} more (-o json has all steps)`] : []),
  ];
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

/** The clusters to read: those of installations, or all that flags select. */
async function targetsFor(
  fleet: Fleet,
  only: readonly Component[] | undefined,
): Promise<readonly ReadTarget[]> {
  if (only !== undefined) {
    const refs = new Map(only.map((one) => [targetId(one), one.spec?.clusterProfileRef]));
    return [...refs.values()].map((ref) => ({ ref }));
  }
  const { cluster, on } = fleet.flags;
  const request = { access: await fleet.access(), flags: { cluster, on, namespace: undefined } };
  const profiles = await listSelectedProfiles(request, fleet.signal);
  const isHub = on === undefined && ["hub", "<hub>", undefined].includes(cluster);
  return [
    ...(isHub ? [{ ref: undefined }] : []),
    ...profiles.map(({ metadata: { namespace, name } }) => ({ ref: { namespace, name } })),
  ];
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
