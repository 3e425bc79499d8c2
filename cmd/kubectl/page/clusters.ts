import {
  type ClusterProfile,
  isHealthy,
  leavingMessage,
  propertiesOf,
} from "../../../api/cluster-profile.ts";
import { conditionOf } from "../../../api/conditions.ts";
import { foreignText } from "../../../api/foreign-text.ts";
import type { Flags } from "../flags.ts";
import { listSelectedProfiles } from "../hub/profiles.ts";
import { type ReportDocument, reportOf, stampAt } from "../output/report.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";

/** What a ClusterProfile says about its cluster, also while that does not answer. */
export interface ClusterItem {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, string>>;
  /** What the cluster manager says of its health; null: nothing. */
  readonly healthy: boolean | null;
  /** Why it is not healthy. */
  readonly message: string | null;
  /** Of the first provider that the profile offers. */
  readonly provider: string | null;
  readonly server: string | null;
  readonly kubernetesVersion: string | null;
}

/** The document with the ClusterProfiles of the hub, which only the page has. */
export type ClusterList = ReportDocument<"ClusterList", { readonly clusters: number }, ClusterItem>;

interface Deps {
  readonly access: ClusterAccess;
  readonly flags: Pick<Flags, "cluster" | "on">;
  readonly now: () => Date;
}

/** Lists the ClusterProfiles of all namespaces that `--cluster` and `--on` select. Throws the errors of KubeClient. */
export async function clusterList(
  { access, flags: { cluster, on }, now }: Deps,
  signal: AbortSignal,
): Promise<ClusterList> {
  // -n is the namespace of components.
  const flags = { namespace: undefined, cluster, on };
  const profiles = await listSelectedProfiles({ access, flags }, signal);
  return reportOf("ClusterList", stampAt(now()), {
    complete: true,
    summary: { clusters: profiles.length },
    items: profiles.map(clusterItemOf),
    errors: [],
  });
}

function clusterItemOf(profile: ClusterProfile): ClusterItem {
  const { metadata, status } = profile;
  const kubernetes = status?.version?.kubernetes;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    labels: metadata.labels ?? {},
    properties: propertiesOf(profile),
    ...healthOf(profile),
    ...accessOf(profile),
    kubernetesVersion: kubernetes === undefined ? null : foreignText(kubernetes),
  };
}

function healthOf(profile: ClusterProfile): Pick<ClusterItem, "healthy" | "message"> {
  const leaving = leavingMessage(profile);
  if (leaving !== undefined) return { healthy: false, message: foreignText(leaving) };
  const condition = conditionOf(profile.status?.conditions, "ControlPlaneHealthy");
  if (isHealthy(profile)) return { healthy: true, message: null };
  if (condition === undefined) return { healthy: null, message: null };
  const { message = "" } = condition;
  return { healthy: false, message: message === "" ? null : foreignText(message) };
}

function accessOf({ status }: ClusterProfile): Pick<ClusterItem, "provider" | "server"> {
  const { accessProviders, credentialProviders } = status ?? {};
  const offered = [...(accessProviders ?? []), ...(credentialProviders ?? [])];
  // Older hubs of KubeFleet begin with an entry that has no server.
  const first = offered.find(({ cluster }) => (cluster?.server ?? "") !== "") ?? offered[0];
  const server = first?.cluster?.server ?? "";
  return {
    provider: first === undefined ? null : foreignText(first.name),
    server: server === "" ? null : foreignText(server),
  };
}
