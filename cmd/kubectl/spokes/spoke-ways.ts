import { providerFileHint } from "../output/notes.ts";
import { UsageError } from "../usage-error.ts";
import type { ClusterAccess, SpokeWays } from "./cluster-access.ts";

/** The ways to spokes of a command that can do nothing without them. Throws UsageError when there is no provider file. */
export async function waysOf({ spokes }: Pick<ClusterAccess, "spokes">): Promise<SpokeWays> {
  const { ways, missing } = await spokes();
  if (ways !== undefined) return ways;
  const why = missing === undefined ? "" : `: ${missing}`;
  throw new UsageError(`No provider file was named, so no cluster can be reached${why}`, [
    providerFileHint,
  ]);
}
