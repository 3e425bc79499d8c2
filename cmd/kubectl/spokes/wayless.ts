import type { Component } from "../../../api/component.ts";
import { managedClusterOf } from "../../../api/delivery.ts";
import { targetId } from "../../../api/keys.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { readEach, type ReadLimits } from "./read-clusters.ts";
import type { UnreadSpoke } from "./spoke-reading.ts";

/** Components, and the clusters among theirs to which the hub has no way. */
interface Ways {
  /** Those whose cluster may be read. */
  readonly near: readonly Component[];
  /** By `targetId` of the components: why nothing can be read there. */
  readonly wayless: ReadonlyMap<string, UnreadSpoke>;
}

/**
 * Finds the clusters to which the hub has no way, so that nothing is rendered for them. Only these may have none: clusters that pull, and without a provider file
 * all but the hub. No other cluster is asked.
 */
export async function findWays(
  components: readonly Component[],
  { access, limits }: { readonly access: ClusterAccess; readonly limits: ReadLimits },
  signal: AbortSignal,
): Promise<Ways> {
  const remote = components.filter(({ spec }) => spec?.clusterProfileRef !== undefined);
  if (remote.length === 0) return { near: components, wayless: new Map() };
  const { reach } = await access.spokes();
  const doubtful =
    reach === undefined ? remote : remote.filter((one) => managedClusterOf(one) !== undefined);
  const quiet = { ...limits, onProgress: undefined };
  const readings = await readEach(doubtful, { access, limits: quiet, read }, signal);
  const wayless = new Map(
    [...readings].flatMap(([id, reading]) =>
      reading.kind === "unread" ? [[id, reading] as const] : [],
    ),
  );
  return { near: components.filter((one) => !wayless.has(targetId(one))), wayless };
}

/** Being connected is enough. */
async function read(): Promise<void> {
  return undefined;
}
