import { isAborted } from "../../../../access/time/deadline.ts";
import { watchHub } from "../../hub/hub-changes.ts";
import { type ReportError, troubleOf, Troubles } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { StatusItem } from "./status-item.ts";

const pollMs = 10_000;

interface Watching {
  readonly access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">;
  readonly selection: Selection;
  /** Rows that were shown already. */
  readonly first: readonly StatusItem[];
  readonly read: () => Promise<readonly StatusItem[]>;
  readonly show: (changed: readonly StatusItem[]) => void;
  /** The hub could not be read; told once for as long as that lasts. */
  readonly onTrouble: (error: ReportError) => void;
}

/**
 * Reads the fleet again and again until the signal aborts, and shows what changed: at once when a component of the hub changes, and every ten
 * seconds, give or take two, because spokes tell us nothing. Never rejects: a hub that is away is waited for.
 */
export async function watchStatus(
  { access, selection, first, read, show, onTrouble }: Watching,
  signal: AbortSignal,
): Promise<void> {
  using changes = watchHub(access, selection, signal);
  const troubles = new Troubles(onTrouble);
  let shown = textsOf(first);
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- nothing is read before something may have changed
    await changes.next(pollMs + (Math.random() - 0.5) * 4_000, signal);
    // An interruption during the reading leaves gaps that are no news.
    if (isAborted(signal)) return;
    try {
      // oxlint-disable-next-line no-await-in-loop -- one look after another
      const items = await read();
      if (isAborted(signal)) return;
      const changed = items.filter((item) => shown.get(keyOf(item)) !== JSON.stringify(item));
      shown = textsOf(items);
      troubles.clear(null);
      if (changed.length > 0) show(changed);
    } catch (error) {
      if (!isAborted(signal)) troubles.report(troubleOf(error, null, access.hubTimeoutMs));
    }
  }
}

function textsOf(items: readonly StatusItem[]): ReadonlyMap<string, string> {
  return new Map(items.map((item) => [keyOf(item), JSON.stringify(item)]));
}

function keyOf({ kind, namespace, name }: StatusItem): string {
  return `${kind}/${namespace}/${name}`;
}
