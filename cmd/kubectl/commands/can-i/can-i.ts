import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { componentId, nameId, targetId } from "../../../../api/keys.ts";
import { whoAmI } from "../../../../controller/guard/whoami.ts";
import type { SpokeNamespaceMode } from "../../../../installation/installation-namespace.ts";
import { rulesOfHub } from "../../compare/controller-rules.ts";
import { namedReleases, type OpenReleases } from "../../compare/named-releases.ts";
import { namespaceOfHub } from "../../compare/rendering-options.ts";
import { exitCodes } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { notFoundErrors, type ReportError } from "../../output/report.ts";
import { reviewAll } from "../../rights/access-review.ts";
import { missingRole, type Needs, renderNeeds } from "../../rights/needs.ts";
import { allWanted, permissionsFor } from "../../rights/permissions.ts";
import { targetsOf, unreadErrors } from "../../spokes/read-clusters.ts";
import { findWays } from "../../spokes/wayless.ts";
import {
  type InstallationAt,
  missingRoleText,
  type PermissionItem,
  permissionNotes,
  permissionTable,
} from "./can-i-text.ts";
import { findComponents } from "./find-components.ts";

/** Flags of `can-i` for clusters. */
interface PermissionFlags {
  /** Absent: each component's own. */
  readonly version: string | undefined;
  readonly spokeNamespace: SpokeNamespaceMode | undefined;
}

/**
 * Checks which of the needed rights the identities on the clusters lack, one item a cluster. A cluster that cannot be read, and a component that cannot
 * be rendered, is in `errors`. Throws the FleetError when no component can be rendered.
 */
export async function readPermissions(
  fleet: Fleet,
  { version, spokeNamespace }: PermissionFlags,
): Promise<Report<PermissionItem>> {
  const { args, flags, signal } = fleet;
  const access = await fleet.access();
  const found = await findComponents(args, { access, flags }, signal);
  const limits = fleet.limits();
  const { near, wayless } = await findWays(found.components, { access, limits }, signal);
  const namespaceOf = namespaceOfHub({ spokeNamespace }, rulesOfHub(access, signal));
  const open = namedReleases(fleet.asInput({}), signal);
  const { known, errors } = await renderAllNeeds(near, open, { version, namespaceOf });
  const targets = targetsOf(known.map(({ component }) => component));
  const read = await fleet.read(targets, ({ id, client }, deadline) => {
    const own = known.filter(({ component }) => targetId(component) === id);
    return reviewCluster(own, client, deadline);
  });
  const items = read.all.map(([, item]) => item).toSorted(worstFirst);
  const lacking = items.filter(({ missing }) => missing > 0).length;
  const unread = unreadErrors(new Map([...wayless, ...read.readings]));
  const isNothing = items.length + found.missing.length + errors.length + unread.length === 0;
  return {
    items,
    summary: { clusters: wayless.size + read.counts.clusters, lacking, unread: unread.length },
    errors: [...notFoundErrors(found.missing), ...errors, ...unread],
    exitCode: lacking > 0 ? exitCodes.unhealthy : undefined,
    tables: ({ isWide }, sorted) => [permissionTable(sorted, isWide)],
    formats: { clusterrole: missingRoleText },
    notes: (sorted) => [
      ...found.notes,
      ...(isNothing ? ["There is no cluster to ask."] : []),
      ...permissionNotes(sorted, fleet, version),
    ],
    advises: false,
  };
}

interface Known {
  readonly component: Component;
  readonly needs: Needs;
}

async function renderAllNeeds(
  components: readonly Component[],
  open: OpenReleases,
  options: Pick<Parameters<typeof renderNeeds>[1], "version" | "namespaceOf">,
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
      const needs = await renderNeeds(component, { releases, ...options });
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
  return cluster === null ? "" : nameId(cluster);
}
