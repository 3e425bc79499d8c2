import type { Component, ComponentKind } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import type { WorkloadState } from "../../../../installation/readiness.ts";
import { selectInstallations } from "../../hub/installations.ts";
import {
  notFoundErrors,
  type Report,
  reportOf,
  stampAt,
  type ReportStamp,
} from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import { deploymentsOf, missingDeployments } from "../../spokes/live-view.ts";
import {
  clusterIdOf,
  readClusters,
  type Readings,
  type ReadLimits,
  unreadErrors,
} from "../../spokes/read-clusters.ts";
import type { StatusDeps } from "../status/status.ts";

/** One Knative Deployment on the cluster of an installation. */
export interface DeploymentItem {
  /** The ClusterProfile of the cluster; null for the hub itself. */
  readonly cluster: { readonly namespace: string; readonly name: string } | null;
  readonly namespace: string;
  readonly name: string;
  readonly available: boolean;
  /** Null: it does not exist. */
  readonly state: WorkloadState | null;
  /** Why it is not available, such as `0 of 1 pods available`; empty when it is. */
  readonly progress: string;
  /** The installation's inventory has the Deployment, and the cluster does not. */
  readonly missing: boolean;
  readonly replicas: {
    readonly desired: number;
    readonly ready: number;
    readonly upToDate: number;
    readonly available: number;
  };
  readonly createdAt: string | null;
  readonly images: readonly string[];
  /** The installation on the hub that it belongs to. */
  readonly installation: {
    readonly kind: ComponentKind;
    readonly namespace: string;
    readonly name: string;
  };
}

interface DeploymentSummary {
  readonly clusters: number;
  readonly unread: number;
  readonly deployments: number;
  readonly notAvailable: number;
  /** Deployments in inventories that the clusters do not have; the upstream operator keeps no inventory. */
  readonly missing: number;
}

export type DeploymentList = Report<"DeploymentList", DeploymentSummary, DeploymentItem>;

/**
 * The Knative Deployments of the selected installations, read from their clusters, sorted by cluster, namespace and
 * name. Throws only when the hub cannot be read; a cluster that cannot be read is in `errors`.
 */
export async function deployments(
  { selection, limits }: { readonly selection: Selection; readonly limits: ReadLimits },
  { access, now }: StatusDeps,
  signal: AbortSignal,
): Promise<DeploymentList> {
  const { components, missing } = await selectInstallations(access, selection, signal);
  const readings = await readClusters(components, { access, limits }, signal);
  return deploymentListOf(components, readings, {
    missing,
    ...stampAt(now()),
  });
}

interface Extras extends ReportStamp {
  /** Names in the selection that no installation has. */
  readonly missing: readonly string[];
}

/** The document for what was read of the clusters. */
export function deploymentListOf(
  components: readonly Component[],
  readings: Readings,
  { missing, ...stamp }: Extras,
): DeploymentList {
  const items = components.flatMap((component) => itemsOf(component, readings));
  const unread = unreadErrors(readings);
  const notFound = notFoundErrors(missing);
  return reportOf("DeploymentList", stamp, {
    complete: unread.length === 0,
    summary: {
      clusters: readings.size,
      unread: unread.length,
      deployments: items.filter((item) => !item.missing).length,
      notAvailable: items.filter(({ available, missing: gone }) => !available && !gone).length,
      missing: items.filter((item) => item.missing).length,
    },
    items: items.toSorted(byText(sortKeyOf)),
    errors: [...notFound, ...unread],
  });
}

function itemsOf(component: Component, readings: Readings): readonly DeploymentItem[] {
  const reading = readings.get(clusterIdOf(component));
  if (reading?.kind !== "read") return [];
  const { kind, metadata, spec } = component;
  const place = {
    cluster: spec?.clusterProfileRef ?? null,
    installation: { kind, namespace: metadata.namespace, name: metadata.name },
  };
  const gone = missingDeployments(component, reading.facts).map((id) => missingItem(id, place));
  const present = deploymentsOf(component, reading.facts).map((fact) => ({
    ...place,
    missing: false,
    namespace: fact.namespace,
    name: fact.name,
    available: fact.available,
    state: fact.state,
    progress: fact.progress,
    replicas: {
      desired: fact.desired,
      ready: fact.ready,
      upToDate: fact.upToDate,
      available: fact.availableReplicas,
    },
    createdAt: fact.createdAt,
    images: fact.images,
  }));
  return [...present, ...gone];
}

function missingItem(
  id: string,
  place: Pick<DeploymentItem, "cluster" | "installation">,
): DeploymentItem {
  const [namespace = "", name = ""] = id.split("/");
  return {
    ...place,
    namespace,
    name,
    available: false,
    state: null,
    progress: "",
    missing: true,
    replicas: { desired: 0, ready: 0, upToDate: 0, available: 0 },
    createdAt: null,
    images: [],
  };
}

function sortKeyOf({ cluster, namespace, name, installation }: DeploymentItem): string {
  return [cluster?.namespace, cluster?.name, namespace, name, installation.name].join("\u0000");
}
