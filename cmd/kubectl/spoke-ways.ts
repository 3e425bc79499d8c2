import type { ClusterAccess, SpokeWays } from "./cluster-access.ts";
import { UsageError } from "./usage-error.ts";

/** The ways to spokes of a command that can do nothing without them. Throws UsageError when no provider file was named. */
export function waysOf({ ways }: Pick<ClusterAccess, "ways">): SpokeWays {
  if (ways !== undefined) return ways;
  throw new UsageError("No provider file was named, so no cluster can be reached", [
    "name it with --clusterprofile-provider-file or KNFLEET_PROVIDER_FILE",
  ]);
}
