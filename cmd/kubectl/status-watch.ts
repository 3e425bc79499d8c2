import type { ClusterAccess } from "./cluster-access.ts";
import { hubChanges } from "./hub-changes.ts";
import type { Selection } from "./selection.ts";
import type { StatusItem } from "./status-item.ts";

const pollMs = 10_000;

/**
 * Reads the fleet again and again until the signal aborts, and shows what changed: at once when a component of the hub changes, and every ten
 * seconds, give or take two, because spokes tell us nothing.
 */
export async function watchStatus(
  read: () => Promise<readonly StatusItem[]>,
  show: (changed: readonly StatusItem[]) => void,
  { access, selection, signal }: WatchContext,
): Promise<void> {
  using changes = hubChanges(access, selection, signal);
  const shown = new Map<string, string>();
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    const items = await read();
    // An interruption during the reading left gaps that are no news.
    if (isAborted(signal)) return;
    const changed = items.filter((item) => shown.get(keyOf(item)) !== JSON.stringify(item));
    for (const item of items) shown.set(keyOf(item), JSON.stringify(item));
    if (changed.length > 0) show(changed);
    // oxlint-disable-next-line no-await-in-loop -- nothing is read before something may have changed
    await changes.next(pollMs + (Math.random() - 0.5) * 4_000, signal);
  }
}

interface WatchContext {
  readonly access: Pick<ClusterAccess, "hub">;
  readonly selection: Selection;
  readonly signal: AbortSignal;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function keyOf({ kind, namespace, name }: StatusItem): string {
  return `${kind}/${namespace}/${name}`;
}
