import { propertiesOf } from "../../../../api/cluster-profile.ts";
import type { Flags } from "../../flags.ts";
import { listSelectedProfiles } from "../../hub/profiles.ts";
import { type Report, reportOf, stampAt } from "../../output/report.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";

/** What a ClusterProfile says about its cluster: the page filters by it. */
export interface ClusterItem {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, string>>;
}

/** The document with the ClusterProfiles of the hub, which only the page has. */
export type ClusterList = Report<"ClusterList", { readonly clusters: number }, ClusterItem>;

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
    items: profiles.map((profile) => ({
      namespace: profile.metadata.namespace,
      name: profile.metadata.name,
      labels: profile.metadata.labels ?? {},
      properties: propertiesOf(profile),
    })),
    errors: [],
  });
}
