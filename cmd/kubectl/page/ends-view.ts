import { byText } from "../../../api/fields.ts";
import type { CheckItem } from "../findings/checks/check-item.ts";
import { clusterKey } from "./cluster-view.ts";
import type { PageStateName } from "./fleet-view.ts";

/** A token or certificate that has ended, or ends soon. */
export interface EndView {
  readonly cluster: string;
  /** The page of the cluster is that of this key; null for none. */
  readonly key: string | null;
  readonly tone: PageStateName;
  readonly message: string;
  readonly next: readonly string[];
}

/** What `check` found that has ended or ends soon: what has ended first, then by time. */
export function endsOf(items: readonly CheckItem[]): readonly EndView[] {
  return (
    items
      .filter(({ check, state }) => check === "expiry" && (state === "FAIL" || state === "WARN"))
      // RFC 3339 in UTC sorts as text. An item without a time stands last.
      .toSorted(byText(({ endsAt = "9999" }) => endsAt))
      .map(({ cluster, state, message, next }) => ({
        cluster: cluster === null ? "hub" : `${cluster.namespace}/${cluster.name}`,
        key: cluster === null ? null : clusterKey(cluster),
        tone: state === "FAIL" ? "bad" : "warning",
        message,
        next,
      }))
  );
}
