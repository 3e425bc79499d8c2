import { ifServed } from "../../../access/kube/api-error.ts";
import type { Right } from "../../../access/kube/missing-right.ts";
import { ifDenied } from "../spokes/spoke-reading.ts";

/** What of a list the user may read. */
export interface VisibleList<Item> {
  readonly items: readonly Item[];
  /** The right to list them, when it is missing. */
  readonly denied: readonly Right[];
}

/** The items of a list, or the right that it needs and that is missing. A server that does not serve the kind has no items. Rejects with every other error. */
export async function listVisible<Item>(
  list: Promise<readonly Item[]>,
  right: Right,
): Promise<VisibleList<Item>> {
  const items = await ifServed(list)
    .then((found) => found ?? [])
    .catch(ifDenied);
  return items === undefined ? { items: [], denied: [right] } : { items, denied: [] };
}
