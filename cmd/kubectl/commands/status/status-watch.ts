import { isAborted } from "../../../../access/time/deadline.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { StatusItem } from "../../fleet/status-item.ts";
import { setsTable } from "../../fleet/status-sets.ts";
import { statusTable } from "../../fleet/status-text.ts";
import type { FleetStatus } from "../../fleet/status.ts";
import { watchHub } from "../../hub/hub-changes.ts";
import type { Follow } from "../../main/report.ts";
import { nameOf } from "../../output/names.ts";
import { type Asked, controllerLines, troubleLines } from "../../output/notes.ts";
import { isTable } from "../../output/output-format.ts";
import { troubleOf, Troubles } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";

const pollMs = 10_000;

interface Watching {
  readonly selection: Selection;
  /** What was shown already. */
  readonly first: FleetStatus;
  readonly read: () => Promise<FleetStatus>;
  readonly show: Parameters<Follow<StatusItem>>[0];
  readonly tell: Parameters<Follow<StatusItem>>[1];
  readonly asked: Asked;
}

/**
 * Reads the fleet again and again until the signal aborts, and shows rows that changed, as `kubectl get --watch` does: at once when a component of the hub
 * changes, and every ten seconds, give or take two, because spokes tell us nothing. Returns the last reading. Never rejects: a hub that is away is waited for.
 */
export async function watchStatus(
  fleet: Fleet,
  { selection, first, read, show, tell, asked }: Watching,
): Promise<FleetStatus> {
  const { signal, flags } = fleet;
  const access = await fleet.access();
  using changes = watchHub(access, selection, signal);
  const troubles = new Troubles((error) => tell(troubleLines([error])));
  let last = first;
  let headers = flags.headers && first.items.length === 0;
  const showNews = async (now: FleetStatus): Promise<void> => {
    const { summary } = now;
    const changed = { items: newOf(now.items, last.items), summary, errors: [], name: nameOf };
    const sets = isTable(flags) ? newOf(now.sets ?? [], last.sets ?? []) : [];
    const isTold = flags.quiet || now.controller?.message === last.controller?.message;
    last = now;
    await show({ ...changed, items: [], tables: (looks) => [setsTable(sets, looks)] }, false);
    if (!isTold) tell(controllerLines(now, asked));
    if (changed.items.length === 0) return;
    await show({ ...changed, tables: (looks, items) => [statusTable(items, looks)] }, headers);
    headers = false;
  };
  while (!signal.aborted) {
    // oxlint-disable no-await-in-loop -- one look after another, and none before something may have changed
    await changes.next(pollMs + (Math.random() - 0.5) * 4_000, signal);
    // An interruption during the reading leaves gaps that are no news.
    if (isAborted(signal)) return last;
    try {
      const now = await read();
      if (isAborted(signal)) return last;
      await showNews(now);
      troubles.clear(null);
    } catch (error) {
      if (!isAborted(signal)) troubles.report(troubleOf(error, null, access.hubTimeoutMs));
    }
    // oxlint-enable no-await-in-loop
  }
  return last;
}

/** What is not among the earlier ones. */
function newOf<Item>(items: readonly Item[], before: readonly Item[]): readonly Item[] {
  const shown = new Set(before.map((item) => JSON.stringify(item)));
  return items.filter((item) => !shown.has(JSON.stringify(item)));
}
