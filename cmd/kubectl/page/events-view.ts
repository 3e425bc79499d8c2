import type { EventItem } from "../fleet/events.ts";

/** Equal Events as one line. */
export interface EventLine {
  /** The newest of them. */
  readonly event: EventItem;
  /** How often it was said. */
  readonly times: number;
  /** How many other objects it was said of. */
  readonly others: number;
}

/** The Events of an installation as the page shows them: those of the hub before those of the cluster, in each the newest first, and equal ones as one line. `events`: oldest first. */
export function eventLines(events: readonly EventItem[]): readonly EventLine[] {
  const groups = Map.groupBy(events.toReversed(), ({ type, reason, message, about, cluster }) =>
    JSON.stringify([cluster, type, reason, message, about.kind]),
  );
  const lines = [...groups.values()].flatMap((group) => {
    const [event] = group;
    if (event === undefined) return [];
    const names = new Set(group.map(({ about }) => `${about.namespace ?? ""}/${about.name}`));
    const times = group.reduce((sum, { count }) => sum + count, 0);
    return [{ event, times, others: names.size - 1 }];
  });
  const placeOf = ({ event }: EventLine): number => (event.cluster === null ? 0 : 1);
  return lines.toSorted((one, other) => placeOf(one) - placeOf(other));
}
