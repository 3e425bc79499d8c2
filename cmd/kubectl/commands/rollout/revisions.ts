import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { FleetSet } from "../../../../api/fleet-set.ts";
import { knownResource } from "../../../../api/resources.ts";
import { pinnedContent } from "../../../../sets/content.ts";
import type { Revision } from "../../../../sets/facts.ts";
import { revisionOf, setSelectorOf } from "../../../../sets/revision-object.ts";
import type { RecordEntry } from "../../../../sets/status/record-entry.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";

/** A revision of a set with the time of its creation. */
export interface RecordedRevision extends Revision {
  /** RFC 3339. */
  readonly createdAt: string | null;
}

/** One revision in a document. */
export interface RevisionItem {
  readonly name: string;
  readonly number: number;
  readonly createdAt: string | null;
  /** Versions of the template and of the overrides, each once. */
  readonly versions: readonly string[];
  readonly overrides: number;
  readonly marks: readonly ("update" | "current" | "completed" | "failed")[];
  /** What happened to it, the oldest first, at most 50. */
  readonly record: readonly RecordItem[];
}

/** One entry of the record of a revision; unknown values are null. */
export interface RecordItem {
  readonly what: RecordEntry["what"];
  readonly at: string;
  readonly user: string | null;
  readonly stage: string | null;
  /** What it is about: a gate, a cluster or a stage. */
  readonly subject: string | null;
  readonly reason: string | null;
}

/** Reads the revisions of a set, the oldest first. Throws as KubeClient does. */
export async function readRevisions(
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  set: FleetSet,
  signal: AbortSignal,
): Promise<readonly RecordedRevision[]> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const labelSelector = Object.entries(setSelectorOf(set))
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  const { namespace } = set.metadata;
  const resource = knownResource("apps/v1", "ControllerRevision");
  const { items } = await hub.list({ resource, namespace, labelSelector }, {}, deadline);
  return items
    .flatMap((object) => {
      const revision = revisionOf(object);
      const createdAt = object.metadata.creationTimestamp ?? null;
      return revision === undefined ? [] : [{ ...revision, createdAt }];
    })
    .toSorted((a, b) => a.number - b.number);
}

/** The items of a document for revisions, in the same order. */
export function revisionItems(
  revisions: readonly RecordedRevision[],
  { status }: FleetSet,
): readonly RevisionItem[] {
  const newest = revisions.at(-1)?.name;
  const current = lastCompleted(revisions)?.name ?? status?.currentRevision;
  return revisions.map(({ name, number, createdAt, completedNumber, failed, ...revision }) => ({
    name,
    number,
    createdAt,
    versions: versionsOf(revision.content),
    overrides: revision.content.overrides?.length ?? 0,
    marks: [
      ...(name === newest ? (["update"] as const) : []),
      ...(name === current ? (["current"] as const) : []),
      ...(completedNumber === undefined ? [] : (["completed"] as const)),
      ...(failed ? (["failed"] as const) : []),
    ],
    record: (revision.record ?? []).map(
      ({ what, at, user = null, stage = null, subject = null, reason = null }) => ({
        what,
        at,
        user,
        stage,
        subject,
        reason,
      }),
    ),
  }));
}

function versionsOf(content: Revision["content"]): readonly string[] {
  const { template, overrides = [] } = pinnedContent(content);
  const versions = [template.spec?.version, ...overrides.map(({ patch }) => patch["version"])];
  return [...new Set(versions.filter((one) => typeof one === "string" && one !== ""))].map(String);
}

/** The revision that all stages passed last. */
function lastCompleted<One extends Revision>(revisions: readonly One[]): One | undefined {
  return revisions
    .filter(({ completedNumber }) => completedNumber !== undefined)
    .toSorted((a, b) => (b.completedNumber ?? 0) - (a.completedNumber ?? 0))
    .at(0);
}

/** Finds a revision by its name or its number. */
export function revisionNamed<One extends Revision>(
  revisions: readonly One[],
  text: string,
): One | undefined {
  return revisions.find(({ name, number }) => name === text || String(number) === text);
}

/** The revision to go back to: of all but `current`, the revision of the spec, the one that was completed last. */
export function revisionBefore<One extends Revision>(
  revisions: readonly One[],
  current: string,
): One | undefined {
  return lastCompleted(revisions.filter(({ name }) => name !== current));
}
