import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { ClusterProfileRef, Component, ComponentKind } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { componentId, targetId } from "../../../../api/keys.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { whoAmI } from "../../../../controller/guard/whoami.ts";
import type { OpenReleases } from "../../compare/named-releases.ts";
import type { NamespaceOf } from "../../compare/rendering-options.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import {
  notFoundErrors,
  type ReportDocument,
  type ReportError,
  reportOf,
  stampAt,
} from "../../output/report.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { readEach, type ReadLimits, unreadErrors } from "../../spokes/read-clusters.ts";
import { findWays } from "../../spokes/wayless.ts";
import { reviewAll, type Reviewed } from "./access-review.ts";
import { missingRole, type Needs, renderNeeds } from "./needs.ts";
import { allWanted, permissionsFor } from "./permissions.ts";

/** The needed rights on one cluster, and which of them the identity has. */
export interface PermissionItem {
  /** The ClusterProfile of the cluster; null for the hub itself. */
  readonly cluster: ClusterProfileRef | null;
  /** User name of the identity, as the cluster returns it. */
  readonly user: string;
  /** What the rights are for. */
  readonly installations: readonly InstallationAt[];
  readonly permissions: readonly Reviewed[];
  /** Number of verbs that are needed, and of those that are missing. */
  readonly needed: number;
  readonly missing: number;
  /** A ClusterRole with what is missing, and its binding; empty when nothing is. */
  readonly missingRole: readonly Manifest[];
}

interface InstallationAt {
  readonly kind: ComponentKind;
  /** Null where there is no installation yet. */
  readonly namespace: string | null;
  readonly name: string | null;
  readonly version: string;
}

interface PermissionSummary {
  readonly clusters: number;
  /** Clusters on which something is missing. */
  readonly lacking: number;
  readonly unread: number;
}

export type PermissionReport = ReportDocument<"Permissions", PermissionSummary, PermissionItem>;

interface CanIDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly releases: OpenReleases;
  readonly namespaceOf: NamespaceOf;
  /** Absent: each component's own. */
  readonly version: string | undefined;
  readonly now: () => Date;
}

/**
 * Checks which of the needed rights the identities on the clusters lack, one item a cluster. A cluster that cannot be read, and a component that cannot
 * be rendered, is in `errors`. Throws the FleetError when no component can be rendered.
 */
export async function canI(
  {
    components,
    missing,
  }: { readonly components: readonly Component[]; readonly missing: readonly string[] },
  deps: CanIDeps,
  signal: AbortSignal,
): Promise<PermissionReport> {
  const { access, limits, now } = deps;
  const { near, wayless } = await findWays(components, { access, limits }, signal);
  const { known, errors } = await renderAllNeeds(near, deps);
  const targets = known.map(({ component }) => component);
  const read = (
    { id, client }: { readonly id: string; readonly client: KubeClient },
    deadline: AbortSignal,
  ) =>
    reviewCluster(
      known.filter(({ component }) => targetId(component) === id),
      client,
      deadline,
    );
  const readings = await readEach(targets, { access, limits, read }, signal);
  const items = [...readings.values()]
    .flatMap((reading) => (reading.kind === "read" ? [reading.facts] : []))
    .toSorted(worstFirst);
  const unread = unreadErrors(new Map([...wayless, ...readings]));
  return reportOf("Permissions", stampAt(now()), {
    complete: unread.length + errors.length === 0,
    summary: {
      clusters: wayless.size + readings.size,
      lacking: items.filter((item) => item.missing > 0).length,
      unread: unread.length,
    },
    items,
    errors: [...notFoundErrors(missing), ...errors, ...unread],
  });
}

interface Known {
  readonly component: Component;
  readonly needs: Needs;
}

async function renderAllNeeds(
  components: readonly Component[],
  { releases: open, version, namespaceOf }: CanIDeps,
): Promise<{ readonly known: readonly Known[]; readonly errors: readonly ReportError[] }> {
  const known: Known[] = [];
  const errors: ReportError[] = [];
  let refusal: FleetError | undefined;
  if (components.length === 0) return { known, errors };
  const releases = await open();
  for (const component of components) {
    const cluster = targetId(component);
    const about = { cluster: cluster === "" ? null : cluster };
    try {
      // oxlint-disable-next-line no-await-in-loop -- equal ones are rendered once
      const needs = await renderNeeds(component, { releases, version, namespaceOf });
      known.push({ component, needs });
      errors.push(...unseenErrors(component, needs).map((error) => ({ ...error, ...about })));
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      refusal ??= error;
      const message = `${titleOf(component)}: ${error.message}`;
      errors.push({ reason: error.reason, message, ...about });
    }
  }
  if (known.length === 0 && refusal !== undefined) throw refusal;
  return { known, errors };
}

function unseenErrors(
  component: Component,
  { unseen }: Needs,
): readonly Omit<ReportError, "cluster">[] {
  if (unseen.length === 0) return [];
  const what = unseen.length === 1 ? "1 manifest" : `${unseen.length} manifests`;
  const message = `${titleOf(component)} brings ${what} by URL, whose kinds are not looked at`;
  return [{ reason: "ManifestSourceNotAllowed", message }];
}

function titleOf(component: Component): string {
  return component.metadata.uid === "" ? component.kind : componentId(component);
}

async function reviewCluster(
  known: readonly Known[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<PermissionItem> {
  const wanted = permissionsFor(allWanted(known.map(({ needs }) => needs)));
  const [{ username: user }, permissions] = await Promise.all([
    whoAmI(client, signal),
    reviewAll(wanted, client, signal),
  ]);
  const lacking = permissions
    .filter(({ missing }) => missing.length > 0)
    .map(({ group, resource, missing }) => ({ group, resource, verbs: missing }));
  return {
    cluster: known[0]?.component.spec?.clusterProfileRef ?? null,
    user,
    installations: known.map(installationOf),
    permissions,
    needed: countOf(wanted),
    missing: countOf(lacking),
    missingRole: lacking.length === 0 ? [] : missingRole(lacking, user),
  };
}

function installationOf({
  component: { kind, metadata },
  needs: { version },
}: Known): InstallationAt {
  const { namespace, name, uid } = metadata;
  return uid === ""
    ? { kind, namespace: null, name: null, version }
    : { kind, namespace, name, version };
}

function countOf(permissions: readonly { readonly verbs: readonly string[] }[]): number {
  return permissions.reduce((sum, { verbs }) => sum + verbs.length, 0);
}

function worstFirst(a: PermissionItem, b: PermissionItem): number {
  return b.missing - a.missing || (sortKeyOf(a) < sortKeyOf(b) ? -1 : 1);
}

function sortKeyOf({ cluster }: PermissionItem): string {
  return cluster === null ? "" : `${cluster.namespace}/${cluster.name}`;
}

/** The exit code that a report stands for. */
export function canIExitCode({ items, errors, complete }: PermissionReport): ExitCode {
  const isNotFound = errors.some(({ reason }) => reason === "NotFound");
  if (isNotFound || items.some(({ missing }) => missing > 0)) return exitCodes.unhealthy;
  return complete ? exitCodes.fine : exitCodes.incomplete;
}
