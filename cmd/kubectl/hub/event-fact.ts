import type { KubeObject } from "../../../api/kubernetes.ts";
import { numberAt, stringAt } from "../selection/fields.ts";

/** Facts about one Event. Null: not known. */
export interface EventFact {
  /** Last time of the event, RFC 3339. */
  readonly time: string | null;
  readonly type: string;
  readonly reason: string | null;
  /** Foreign text. */
  readonly message: string | null;
  readonly count: number;
  /** The program that wrote the Event. */
  readonly from: string | null;
  readonly about: {
    readonly kind: string | null;
    readonly namespace: string | null;
    readonly name: string | null;
    readonly uid: string | null;
  };
}

/** The facts of a v1 Event as an API server returned it. Reads the old and the new fields of its times. */
export function eventFactOf(event: KubeObject): EventFact {
  const last =
    stringAt(event, "series", "lastObservedTime") ??
    stringAt(event, "lastTimestamp") ??
    stringAt(event, "eventTime") ??
    event.metadata.creationTimestamp ??
    null;
  return {
    time: last,
    type: stringAt(event, "type") ?? "Normal",
    reason: stringAt(event, "reason"),
    message: stringAt(event, "message"),
    count: numberAt(event, "series", "count") ?? numberAt(event, "count") ?? 1,
    from: stringAt(event, "source", "component") ?? stringAt(event, "reportingComponent"),
    about: {
      kind: stringAt(event, "involvedObject", "kind"),
      namespace: stringAt(event, "involvedObject", "namespace"),
      name: stringAt(event, "involvedObject", "name"),
      uid: stringAt(event, "involvedObject", "uid"),
    },
  };
}

/** Events sorted by time. Events without a time come first. */
export function newestLast<Event extends Pick<EventFact, "time">>(
  events: readonly Event[],
): readonly Event[] {
  const timeOf = ({ time }: Event): number => Date.parse(time ?? "") || 0;
  return events.toSorted((a, b) => timeOf(a) - timeOf(b));
}
