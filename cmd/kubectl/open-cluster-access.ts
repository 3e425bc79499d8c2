import type { ClusterAccess } from "./cluster-access.ts";
import type { Flags } from "./flags.ts";
export function openClusterAccess(
  _flags: Flags,
  _deps: { env: Readonly<Record<string, string | undefined>>; spokes: boolean },
): Promise<ClusterAccess> {
  throw new Error("not yet");
}
