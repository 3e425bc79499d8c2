import type { Component } from "../api/component.ts";
import type { Installation } from "./reconcile/installation.ts";
import type { Happening } from "./reconcile/transitions.ts";

/** Which spokes were given the same token; PathMetrics has it. */
export interface TokenSharers {
  /** `namespace/name` of the ClusterProfiles that have the token of this one, and another server. */
  sharers(spoke: string): readonly string[];
}

/**
 * The Event that the cluster of a component shares its credential with others, when that is news. It does not name them: who may
 * see a component need not know of other clusters; the log does. Security: T-21.
 */
export function sharingOf(
  component: Component,
  installation: Pick<Installation, "sharedWith">,
  tokens: TokenSharers,
): Happening | undefined {
  const ref = component.spec?.clusterProfileRef;
  if (ref === undefined) return undefined;
  const sharers = tokens.sharers(`${ref.namespace}/${ref.name}`);
  const before = installation.sharedWith;
  installation.sharedWith = sharers.join();
  if (sharers.length === 0 || installation.sharedWith === before) return undefined;
  const many = sharers.length === 1 ? "another ClusterProfile" : `${sharers.length} others`;
  const message =
    `The token for ClusterProfile ${ref.namespace}/${ref.name} is also sent to the server of ${many}, ` +
    "and whoever runs one of them could use it at the others; the log names them";
  return { type: "Warning", reason: "SharedCredential", message };
}
