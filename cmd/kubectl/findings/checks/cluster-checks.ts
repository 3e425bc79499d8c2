import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { ClusterProfileRef, Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { componentId, targetId } from "../../../../api/keys.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { reasons } from "../../../../api/reasons.ts";
import { listAnchors } from "../../../../controller/apply/anchor/list-anchors.ts";
import { areRivals } from "../../../../controller/reconcile/claims.ts";
import { installedRival } from "../../../../controller/reconcile/installed-rival.ts";
import { unusedConfigMessage } from "../../../../render/features/named-objects.ts";
import { type Comparable, comparableOf } from "../../compare/comparable.ts";
import { askHub, findDuplicate } from "../../compare/plan-item.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import { countedReading } from "../../output/progress.ts";
import type { ComponentDocument } from "../../selection/component-documents.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import {
  mapLimited,
  readTargets,
  type ReadLimits,
  type ReadOne,
} from "../../spokes/read-clusters.ts";
import { ifDenied, pullOnly } from "../../spokes/spoke-reading.ts";
import { rootCauseOf } from "../diagnosis.ts";
import { noRivalMessage, rivalFinding } from "../hops/component-hops.ts";
import { checkVersion } from "../hops/installation-hops.ts";
import { checkRights } from "../hops/spoke-hops.ts";
import type { HubWalk } from "../walk-hub.ts";
import { walkTarget } from "../walk-target.ts";
import type { WalkContext } from "../walk.ts";
import { checkItem, type CheckItem } from "./check-item.ts";
import { expiryItems, type ExpiryWindow } from "./expiry.ts";

/** A cluster to check. */
export interface CheckedCluster {
  readonly ref: ClusterProfileRef;
  /** Undefined when it does not exist, which the walk reports. */
  readonly profile: ClusterProfile | undefined;
  /** Works bring components to it, so that it need not be reached. */
  readonly isPulled?: boolean;
}

export interface ClusterCheckDeps {
  readonly hub: HubWalk;
  readonly context: WalkContext;
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly window: ExpiryWindow;
}

/** What clusters that were read have, by `namespace/name`. */
type ReadFacts = ReadonlyMap<string, Omit<ClusterAnswer, "items">>;

/** Walks to every cluster, and asks each that answers for its version and our rights. */
export async function checkClusters(
  clusters: readonly CheckedCluster[],
  deps: ClusterCheckDeps,
  signal: AbortSignal,
): Promise<{ readonly items: readonly CheckItem[]; readonly read: ReadFacts }> {
  const { limits, access } = deps;
  const counted = countedReading(clusters.length, limits.onProgress);
  const walked = await mapLimited(clusters, limits.concurrency, (cluster) =>
    counted(`${cluster.ref.namespace}/${cluster.ref.name}`, () =>
      walkToCluster(cluster, deps, signal),
    ),
  );
  const reached = clusters.filter((_, at) => walked[at]?.isReached === true);
  const readings = await readTargets(reached, { access, limits, read: askCluster }, signal);
  const read = new Map<string, ClusterAnswer>();
  const answered = [...readings].flatMap(([id, reading]) => {
    // The walk has reported the problem.
    if (reading.kind !== "read") return [];
    read.set(id, reading.facts);
    return reading.facts.items;
  });
  return { items: [...walked.flatMap(({ items }) => items), ...answered], read };
}

/** Codes of a cluster to which the hub has no way. */
const wayless: readonly string[] = ["KNF2015", "KNF3001", "KNF3004"];

async function walkToCluster(
  { ref, profile, isPulled = false }: CheckedCluster,
  { hub, context, window }: ClusterCheckDeps,
  signal: AbortSignal,
): Promise<{ readonly items: readonly CheckItem[]; readonly isReached: boolean }> {
  const target = { kind: "ClusterProfile", ...ref } as const;
  const { hops, ends: times } = await walkTarget(target, hub, { ...context, signal });
  const last = hops.find(({ id }) => id === "authentication");
  const isReached = last?.state === "OK" || last?.state === "WARN";
  const base = { check: "reachable", cluster: ref };
  // The check of the controller tells of shards that no replica serves.
  const cause = rootCauseOf(hops.filter(({ id }) => id !== "replica"));
  const ends = expiryItems(times, { profile, cluster: ref }, window);
  // The end of a credential or certificate has an item of its own.
  const hasOwnItem = cause !== undefined && ["KNF3020", "KNF4013"].includes(cause.code);
  if (cause === undefined || (hasOwnItem && isReached)) {
    const message = isReached ? last.message : "not looked at";
    return {
      items: [checkItem({ ...base, state: isReached ? "OK" : "SKIPPED", message }), ...ends],
      isReached,
    };
  }
  const item = causeItem(cause, { ref, isReached, isPulled });
  return { items: [item, ...ends], isReached };
}

/** What keeps a cluster from being reached, or is odd about it. */
function causeItem(
  { code, message, next, severity }: NonNullable<ReturnType<typeof rootCauseOf>>,
  {
    ref,
    isReached,
    isPulled,
  }: Pick<CheckedCluster, "ref" | "isPulled"> & { readonly isReached: boolean },
): CheckItem {
  const base = { check: "reachable", cluster: ref };
  if (isPulled === true && wayless.includes(code)) {
    return checkItem({ ...base, state: "SKIPPED", code: "KNF2011", message: pullOnly.message });
  }
  const isUnknown = ["KNF3001", "KNF3013"].includes(code) && !isReached;
  const state = isUnknown ? "SKIPPED" : ({ error: "FAIL", warning: "WARN" } as const)[severity];
  return checkItem({ ...base, state, code, message, next });
}

interface ClusterAnswer {
  readonly version: string | undefined;
  /** Undefined: they may not be listed. */
  readonly anchors: readonly KubeObject[] | undefined;
  readonly items: readonly CheckItem[];
}

const askCluster: ReadOne<ClusterAnswer> = async ({ id, client }, signal) => {
  const [namespace = "", name = ""] = id.split("/");
  const cluster = { namespace, name };
  const version = await readKubernetesVersion(client, signal).catch(ifDenied);
  const session = { client, gitVersion: version, user: undefined };
  const { message, findings = [] } = await checkRights(session, signal);
  const [missing] = findings;
  const rights = checkItem({
    check: "rights",
    cluster,
    state: missing === undefined ? "OK" : "FAIL",
    code: missing?.code ?? null,
    message: missing?.message ?? message,
    next: missing?.next ?? [],
  });
  const anchors = await listAnchors(client, signal);
  return { version, anchors, items: [versionItem(session, cluster), rights] };
};

function versionItem(
  session: Parameters<typeof checkVersion>[0],
  cluster: ClusterProfileRef,
): CheckItem {
  const check = "Kubernetes";
  try {
    const { message } = checkVersion(session, undefined);
    return checkItem({ check, cluster, state: "OK", message });
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return checkItem({ check, cluster, state: "FAIL", code: "KNF6003", message: error.sentence });
  }
}

/** What is known when components are checked. */
export interface KnownFacts {
  readonly read: ReadFacts;
  /** The components of the hub. */
  readonly components: readonly Component[];
}

interface FileCheckDeps extends KnownFacts {
  readonly access: ClusterAccess;
  readonly settings: RenderSettings;
}

/** Checks whether the hub would accept a component, and whether it could be installed. Stores nothing. */
export async function checkDocument(
  { component, where }: ComponentDocument,
  { access, settings, read, components }: FileCheckDeps,
  signal: AbortSignal,
): Promise<readonly CheckItem[]> {
  const subject = componentId(component);
  const cluster = component.spec?.clusterProfileRef ?? null;
  const base = { subject, cluster };
  const answer = await askHub(component, access.hub, signal);
  const { action, message } = answer;
  const kubernetesVersion = read.get(targetId(component))?.version;
  // Without release files, everything else is checked all the same.
  const rendered = await comparableOf(answer.component, settings, { kubernetesVersion }).catch(
    (error: unknown) => {
      if (error instanceof FleetError) return error;
      throw error;
    },
  );
  const stored = action === "none" ? "is there already" : "would be stored";
  return [
    checkItem({
      ...base,
      check: "hub takes it",
      state: action === "refused" ? "FAIL" : "OK",
      message: message ?? `${where}: ${stored}`,
    }),
    fileVersionItem(rendered, base),
    ...configItems(rendered, base),
    await checkDuplicate(component, { access, base }, signal),
    ...rivalItems([components.find((one) => componentId(one) === subject) ?? answer.component], {
      read,
      components,
    }),
  ];
}

function fileVersionItem(rendered: Comparable | FleetError, base: Base): CheckItem {
  const check = "version";
  if (!(rendered instanceof FleetError)) {
    const message = `${rendered.version}, ${rendered.manifests.length} objects`;
    return checkItem({ ...base, check, state: "OK", message });
  }
  const { code, reason, sentence: message } = rendered;
  // The controller may have, or be able to fetch, what this machine lacks.
  const isUnknown = reason === "ManifestSourceUnavailable" || reason === "ReleasesUnavailable";
  const next = [reasons[reason].next];
  const state = isUnknown ? "WARN" : "FAIL";
  return checkItem({ ...base, check, state, code: code ?? reason, message, next });
}

function configItems(rendered: Comparable | FleetError, base: Base): readonly CheckItem[] {
  const unused = rendered instanceof FleetError ? [] : rendered.unusedConfig;
  const message = unusedConfigMessage(unused);
  if (message === undefined) return [];
  return [checkItem({ ...base, check: "config", state: "WARN", message })];
}

async function checkDuplicate(
  component: Component,
  { access, base }: Pick<FileCheckDeps, "access"> & { readonly base: Base },
  signal: AbortSignal,
): Promise<CheckItem> {
  const duplicate = await findDuplicate(component, access.hub, signal);
  const check = "one per profile";
  if (duplicate === undefined) {
    const message = `no other ${component.kind} is for its ClusterProfile`;
    return checkItem({ ...base, check, state: "OK", message });
  }
  const message = `${componentId(duplicate)} is for the same cluster`;
  return checkItem({ ...base, check, state: "FAIL", code: "KNF1013", message });
}

/** Checks of each component whose cluster was read whether another one is installed there, through another ClusterProfile. */
export function rivalItems(
  asked: readonly Component[],
  { read, components }: KnownFacts,
): readonly CheckItem[] {
  return asked.flatMap((component) => {
    const facts = read.get(targetId(component));
    if (facts === undefined) return [];
    const cluster = component.spec?.clusterProfileRef ?? null;
    const base = { check: "one per cluster", subject: componentId(component), cluster };
    if (facts.anchors === undefined) {
      const message = "ConfigMaps of the cluster may not be listed";
      return [checkItem({ ...base, state: "SKIPPED", message })];
    }
    const rival = installedRival(component, facts.anchors, components);
    if (rival === undefined) {
      return [checkItem({ ...base, state: "OK", message: noRivalMessage(component) })];
    }
    // `one per profile` tells of two components with one ClusterProfile.
    if (areRivals(component, rival)) return [];
    const { code, message, next } = rivalFinding(component, rival);
    return [checkItem({ ...base, state: "FAIL", code, message, next })];
  });
}

type Base = Pick<CheckItem, "subject" | "cluster">;
