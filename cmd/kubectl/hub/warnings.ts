import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { FleetSet } from "../../../api/fleet-set.ts";
import { type KubeObject, lastWriteAt } from "../../../api/kubernetes.ts";
import { notTakenSentence, writeRefused } from "../../../api/reasons.ts";
import { knownResource } from "../../../api/resources.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { type EventFact, eventFactOf, newestLast } from "./event-fact.ts";

type HubAccess = Pick<ClusterAccess, "hub" | "hubTimeoutMs">;

/** A component or a set. */
interface Subject {
  readonly metadata: { readonly namespace: string; readonly uid: string };
}

const shownEvents = 5;

/** The last Warning events of an object of the hub; null when the hub does not let us read them. */
export async function warningsOf(
  { metadata: { namespace, uid } }: Subject,
  { hub, hubTimeoutMs }: HubAccess,
  signal: AbortSignal,
): Promise<readonly EventFact[] | null> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const fieldSelector = `involvedObject.uid=${uid},type=Warning`;
  const ref = { resource: knownResource("v1", "Event"), namespace, fieldSelector };
  const found: readonly KubeObject[] | null = await hub.list(ref, {}, deadline).then(
    ({ items }) => items,
    () => null,
  );
  if (found === null) return null;
  // A server that does not know the selector answers with everything.
  const own = found
    .map(eventFactOf)
    .filter(({ about, type }) => about.uid === uid && type === "Warning");
  return newestLast(own).slice(-shownEvents);
}

/** Why the status of a set is old: the hub does not take a newer one. Foreign text; undefined when nothing says so. */
export async function refusedStatusOf(
  set: FleetSet,
  access: HubAccess,
  signal: AbortSignal,
): Promise<string | undefined> {
  const writtenAt = Date.parse(lastWriteAt(set, "status") ?? "") || 0;
  const warnings = (await warningsOf(set, access, signal)) ?? [];
  // Another refusal is told in the status itself.
  const refusal = warnings.findLast(
    ({ reason, message, time }) =>
      reason === writeRefused &&
      message?.startsWith(notTakenSentence("status of the set")) === true &&
      Date.parse(time ?? "") > writtenAt,
  );
  return refusal?.message ?? undefined;
}
