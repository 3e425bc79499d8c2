import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { ownReasons } from "../commands/status/own-reasons.ts";
import type { ClusterAccess, SpokeAccess } from "../spokes/cluster-access.ts";
import { UnreadError } from "../spokes/spoke-reading.ts";
import type { RecordedCluster, RecordedFleet } from "./bundle.ts";
import { recordedClient } from "./recorded-client.ts";
import { recordedLines } from "./recorded-logs.ts";

/** The way to a recorded fleet. A cluster that could not be read when it was recorded is still not, for the same reason. */
export function recordedAccess(fleet: RecordedFleet): ClusterAccess {
  const clientOf = (cluster: RecordedCluster): KubeClient =>
    recordedClient(cluster, (ref) => recordedLines(fleet, cluster, ref));
  const reach = (profile: ClusterProfile): Promise<SpokeAccess> => {
    const id = `${profile.metadata.namespace}/${profile.metadata.name}`;
    const cluster = fleet.spokes.find((one) => one.cluster === id);
    if (cluster === undefined) return Promise.reject(new UnreadError(notInBundle));
    if (cluster.unread !== null) return Promise.reject(new UnreadError(cluster.unread));
    return Promise.resolve({
      client: clientOf(cluster),
      provider: cluster.provider ?? "",
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  };
  return {
    hub: clientOf(fleet.hub),
    namespace: fleet.namespace,
    hubTimeoutMs: 60_000,
    spokes: () => Promise.resolve({ reach }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const notInBundle = {
  state: "Unknown",
  reason: "NotInBundle",
  message: ownReasons.NotInBundle,
} as const;
