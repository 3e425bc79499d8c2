import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { hubSource } from "../../hub/open-hub.ts";
import { listSelectedProfiles } from "../../hub/profiles.ts";
import type { FailOn } from "../../main/command-flags.ts";
import { reportOf, type ReportStamp, stampAt } from "../../output/report.ts";
import type { ComponentDocument } from "../../selection/component-documents.ts";
import { isPulled, mapLimited } from "../../spokes/read-clusters.ts";
import { prepareWalk } from "../prepare-walk.ts";
import { walkHub } from "../walk-hub.ts";
import type { WalkContext } from "../walk.ts";
import { type CheckItem, type CheckReport, itemOfHop } from "./check-item.ts";
import {
  checkClusters,
  checkDocument,
  type CheckedCluster,
  type ClusterCheckDeps,
  type KnownFacts,
  rivalItems,
} from "./cluster-checks.ts";
import { expiryWindow } from "./expiry.ts";
import {
  checkCollisions,
  checkHubVersion,
  checkProfileKind,
  checkProviderFile,
  listVisibleComponents,
} from "./hub-checks.ts";
import { checkSets } from "./set-checks.ts";

interface CheckOptions {
  /** Components that are not applied yet; undefined: the whole fleet is checked. */
  readonly documents: readonly ComponentDocument[] | undefined;
  readonly flags: Pick<Flags, "namespace" | "cluster" | "on">;
}

type CheckDeps = Omit<ClusterCheckDeps, "hub"> & {
  /** Needed with documents only. */
  readonly settings: RenderSettings | undefined;
};

/** Checks everything that an installation needs, before there is one. Changes nothing; problems are in the items. */
export async function checkFleet(
  { documents, flags }: CheckOptions,
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<CheckReport> {
  const { context, access } = deps;
  const hub = await walkHub(context, signal);
  const hops = hub.hops.map((hop) => itemOfHop(hop, { subject: "hub", cluster: null }));
  // The time was over before the first step ended.
  if (hops.length === 0) signal.throwIfAborted();
  if (!hub.facts.ok) return checkReport(hops, 0, stampAt(context.now()));
  const late = withTimeout(systemClock, 4 * context.hubTimeoutMs, signal);
  const controllers = hub.controllers.ok ? hub.controllers.value : undefined;
  const nothing = { components: [], denied: [] };
  const { components, denied } = hub.kinds.ok ? await listVisibleComponents(access, late) : nothing;
  const hubItems = [
    await checkHubVersion(access.hub, late),
    await checkProfileKind(access.hub, late),
    ...(await checkProviderFile(controllers, context, late)),
    ...(hub.kinds.ok ? checkCollisions(components, denied) : []),
    ...(documents === undefined ? await checkSets({ access, now: context.now() }, late) : []),
  ];
  const isServed = hubItems.every(({ code }) => code !== "KNF2001");
  const profiles = isServed
    ? await listSelectedProfiles({ access, flags: profileFlags(flags, documents) }, late)
    : [];
  const all = profiles.map((profile) => clusterOfProfile(profile, components));
  const clusters = documents === undefined ? all : clustersOf(documents, all);
  const { items, read } = await checkClusters(clusters, { ...deps, hub }, signal);
  const known = { ...deps, read, components };
  const ofComponents = hub.kinds.ok ? await componentItems(documents, known, signal) : [];
  const checked = [...hops, ...hubItems, ...ofComponents, ...items];
  return checkReport(checked, clusters.length, stampAt(context.now()));
}

/** The checks of components: those of files, or all of the hub. */
async function componentItems(
  documents: CheckOptions["documents"],
  { access, settings, limits, read, components }: CheckDeps & KnownFacts,
  signal: AbortSignal,
): Promise<readonly CheckItem[]> {
  if (documents === undefined) return rivalItems(components, { read, components });
  if (settings === undefined) return [];
  const items = await mapLimited(documents, limits.concurrency, (document) =>
    checkDocument(document, { access, settings, read, components }, signal),
  );
  return items.flat();
}

/** With files, `-n` is the namespace of their components; without files, that of ClusterProfiles. */
function profileFlags(
  { namespace, cluster, on }: CheckOptions["flags"],
  documents: CheckOptions["documents"],
): CheckOptions["flags"] {
  return documents === undefined
    ? { namespace, cluster, on }
    : { namespace: undefined, cluster: undefined, on: undefined };
}

type Profile = Awaited<ReturnType<typeof listSelectedProfiles>>[number];

function clusterOfProfile(profile: Profile, components: readonly Component[]): CheckedCluster {
  const { namespace, name } = profile.metadata;
  const ref = { namespace, name };
  return { ref, profile, isPulled: isPulled(components, `${namespace}/${name}`) };
}

/** The clusters that the components of files are for, each once. */
function clustersOf(
  documents: readonly ComponentDocument[],
  known: readonly CheckedCluster[],
): readonly CheckedCluster[] {
  const refs = documents.flatMap(({ component }) => component.spec?.clusterProfileRef ?? []);
  const byId = new Map(refs.map((ref) => [`${ref.namespace}/${ref.name}`, ref]));
  return [...byId].map(([id, { namespace, name }]) => {
    const found = known.find(({ ref }) => `${ref.namespace}/${ref.name}` === id);
    return found ?? { ref: { namespace, name }, profile: undefined };
  });
}

/** The document for checked items. */
export function checkReport(
  items: readonly CheckItem[],
  clusters: number,
  stamp: ReportStamp,
): CheckReport {
  const count = (state: CheckItem["state"]): number =>
    items.filter((item) => item.state === state).length;
  return reportOf("Check", stamp, {
    complete: !items.some(
      ({ check: id, state, code }) =>
        code === "ReleasesUnavailable" ||
        (state === "SKIPPED" && (id === "reachable" || id === "provider file")),
    ),
    summary: {
      ok: count("OK"),
      warnings: count("WARN"),
      errors: count("FAIL"),
      skipped: count("SKIPPED"),
      clusters,
    },
    items,
    errors: [],
  });
}

/** 2: the hub cannot be asked; 1: something is wrong; 3: something could not be checked. */
export function checkExitCode({ items, summary, complete }: CheckReport, failOn: FailOn): ExitCode {
  const isLost = items.some(({ code }) => ["KNF1001", "KNF1002", "KNF1003"].includes(code ?? ""));
  if (isLost) return exitCodes.failed;
  const counted = { error: summary.errors, warning: summary.errors + summary.warnings, never: 0 };
  if (counted[failOn] > 0) return exitCodes.unhealthy;
  return complete || failOn === "never" ? exitCodes.fine : exitCodes.incomplete;
}

/** The report of `check` without flags. Throws the error of a hub that does not answer. */
export async function checkWholeFleet(
  fleet: Fleet,
  observed: Pick<WalkContext, "onCredential">,
): Promise<CheckReport> {
  const { env, flags, now, signal } = fleet;
  const access = await fleet.access();
  await using files = new AsyncDisposableStack();
  const vantage = { hub: access.hub, source: hubSource(flags, env), files, ...observed };
  const context = await prepareWalk(fleet.asInput({}), vantage);
  const window = expiryWindow(undefined, now().getTime());
  return await checkFleet(
    {
      documents: undefined,
      flags: { namespace: undefined, cluster: undefined, on: undefined },
    },
    { context, access, limits: fleet.limits(), window, settings: undefined },
    signal,
  );
}
