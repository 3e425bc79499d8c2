import { withTimeout } from "../../../../access/deadline.ts";
import type { FleetSet } from "../../../../api/fleet-set.ts";
import { knownResource } from "../../../../api/resources.ts";
import type { Revision } from "../../../../sets/facts.ts";
import { revisionOf, setSelectorOf } from "../../../../sets/revision-object.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";

/** A revision of a set, and when it was recorded first. */
export interface RecordedRevision extends Revision {
  /** RFC 3339. */
  readonly createdAt: string | null;
}

/** One revision, as documents have it. */
export interface RevisionItem {
  readonly name: string;
  readonly number: number;
  readonly createdAt: string | null;
  /** Of the template, then of overrides that have another one. */
  readonly versions: readonly string[];
  readonly overrides: number;
  readonly marks: readonly ("update" | "current" | "completed" | "failed")[];
}

/** The revisions of a set, the oldest rollout first. Throws what KubeClient throws. */
export async function readRevisions(
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  set: FleetSet,
  signal: AbortSignal,
): Promise<readonly RecordedRevision[]> {
  const deadline = withTimeout(hubTimeoutMs, signal);
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

/** The revisions as rows, in the same order. */
export function revisionItems(
  revisions: readonly RecordedRevision[],
  { status }: FleetSet,
): readonly RevisionItem[] {
  const newest = revisions.at(-1)?.name;
  const current = lastCompleted(revisions)?.name ?? status?.currentRevision;
  return revisions.map(({ name, number, createdAt, completedNumber, failed, content }) => ({
    name,
    number,
    createdAt,
    versions: versionsOf(content),
    overrides: content.overrides?.length ?? 0,
    marks: [
      ...(name === newest ? (["update"] as const) : []),
      ...(name === current ? (["current"] as const) : []),
      ...(completedNumber === undefined ? [] : (["completed"] as const)),
      ...(failed ? (["failed"] as const) : []),
    ],
  }));
}

function versionsOf({ template, overrides = [] }: Revision["content"]): readonly string[] {
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

/** The revision of a name or a number. */
export function revisionNamed<One extends Revision>(
  revisions: readonly One[],
  text: string,
): One | undefined {
  return revisions.find(({ name, number }) => name === text || String(number) === text);
}

/** What the set goes back to: the revision that was completed last, but not the one that it wants now. */
export function revisionBefore<One extends Revision>(
  revisions: readonly One[],
  wanted: string,
): One | undefined {
  return lastCompleted(revisions.filter(({ name }) => name !== wanted));
}
