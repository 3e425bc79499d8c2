import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import type { ClusterAccess, SpokeAccess } from "../cluster-access.ts";
import { ownReasons } from "../own-reasons.ts";
import { UnreadError } from "../spoke-reading.ts";
import type { RecordedFleet } from "./bundle.ts";
import { recordedClient } from "./recorded-client.ts";

/** The way to a recorded fleet. A cluster that could not be read when it was recorded is still not, for the same reason. */
export function recordedAccess(fleet: RecordedFleet): ClusterAccess {
  const reach = (profile: ClusterProfile): Promise<SpokeAccess> => {
    const id = `${profile.metadata.namespace}/${profile.metadata.name}`;
    const cluster = fleet.spokes.find((one) => one.cluster === id);
    if (cluster === undefined) return Promise.reject(new UnreadError(notInBundle));
    if (cluster.unread !== null) return Promise.reject(new UnreadError(cluster.unread));
    return Promise.resolve({
      client: recordedClient(cluster),
      provider: cluster.provider ?? "",
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  };
  return {
    hub: recordedClient(fleet.hub),
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
