import type { FleetSet } from "../../api/fleet-set.ts";

/**
 * A set as the controller takes it: what steers a deletion no longer changes. The webhook refuses such a change, but it may not be running.
 *
 * A set that is being deleted keeps the spec that its deletion was first seen with. That spec counts when the deletion alone has changed the generation since the
 * controller saw the set last. Otherwise somebody changed the spec, too, and nothing says whether before the deletion or after it: then the components stay.
 * The set has the generation before its deletion. Its status keeps that for the next leader, and only who may write a status can change it.
 */
export function asDeleted(set: FleetSet, before: FleetSet | undefined): FleetSet {
  if (set.metadata.deletionTimestamp === undefined) return set;
  const earlier = before?.metadata.uid === set.metadata.uid ? before : undefined;
  const generation = earlier?.metadata.generation ?? set.status?.observedGeneration ?? 0;
  const metadata = { ...set.metadata, generation };
  if (earlier?.metadata.deletionTimestamp !== undefined) {
    return { ...set, metadata, spec: earlier.spec };
  }
  const isDeletedOnly = (set.metadata.generation ?? 0) <= generation + 1;
  if (isDeletedOnly) return { ...set, metadata };
  return { ...set, metadata, spec: { ...set.spec, deletionPolicy: "Orphan" } };
}

/** The answer to a write, with the spec that was seen: during a deletion that one counts, and not the stored one. Before a deletion both are the same, or the write had failed. */
export function withSpecOf(answer: FleetSet, { metadata, spec }: FleetSet): FleetSet {
  const { generation = 0 } = metadata;
  return { ...answer, metadata: { ...answer.metadata, generation }, spec };
}
