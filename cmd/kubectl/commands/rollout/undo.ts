import { isOutdatedPatch } from "../../../../access/kube/api-error.ts";
import { type FleetSet, fleetSetApiVersion } from "../../../../api/fleet-set.ts";
import { pointerOf } from "../../../../api/json-pointer.ts";
import { knownResource } from "../../../../api/resources.ts";
import { isSameWish, pinnedContent } from "../../../../sets/content.ts";
import { type RevisionContent, revisionNameOf } from "../../../../sets/desired-spec.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { rolloutCommand } from "../../hub/rollout-steps.ts";
import { type Answer, refusal } from "../../main/report.ts";
import { checkWriteFormat, objectText } from "../../output/output-format.ts";
import { stepLine, withHub } from "../../output/steps.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import {
  readRevisions,
  type RecordedRevision,
  revisionBefore,
  revisionNamed,
} from "./revisions.ts";
import {
  callerOf,
  changedMeanwhile,
  deedAnnotation,
  deletedSet,
  fieldManager,
  isBeingDeleted,
  nameOf,
  told,
  writtenText,
} from "./steer.ts";

interface Options {
  readonly toRevision?: string;
  readonly apply: boolean;
  readonly dryRun: boolean;
}

/** Prints the set with an earlier revision, or writes it. */
export async function undoRollout(fleet: Fleet, options: Options): Promise<Answer> {
  const { flags } = fleet;
  checkWriteFormat(flags);
  const set = await namedSet(fleet);
  if (!("kind" in set)) return set;
  const revisions = await readRevisions(await fleet.access(), set, fleet.signal);
  const current = wantedRevision(set, revisions);
  const { toRevision, apply, dryRun } = options;
  const revision =
    toRevision === undefined
      ? revisionBefore(revisions, current)
      : revisionNamed(revisions, toRevision);
  const placed = placedSetOf(set);
  if (revision === undefined) {
    const why =
      toRevision === undefined
        ? "No revision was completed before the one that the set wants"
        : `There is no revision "${toRevision}"`;
    return refusal(why, [rolloutCommand("history", placed)]);
  }
  if (revision.name === current) {
    return await told(set, `wants revision ${current} already`, flags);
  }
  if (apply && isBeingDeleted(set)) {
    const { why, next } = deletedSet(set);
    return refusal(why, next);
  }
  if (apply) return await write(set, revision, fleet, dryRun);
  const step = rolloutCommand("undo", placed, "--to-revision", revision.name, "--apply");
  return {
    text: await objectText(objectOf(set, revision), flags),
    notes: [stepLine(withHub(step, fleet.commands))],
  };
}

/** Name of the revision that the set wants: the newest one when it comes from the same spec, whose exact versions only the controller knows. */
function wantedRevision(set: FleetSet, revisions: readonly RecordedRevision[]): string {
  const newest = revisions.at(-1);
  const isOfSpec = newest !== undefined && isSameWish(newest.content, set.spec);
  return isOfSpec ? newest.name : revisionNameOf(set);
}

/** The set as a manifest, with the content of a revision. */
function objectOf(
  { apiVersion, kind, metadata, spec }: FleetSet,
  { content }: RecordedRevision,
): object {
  const { overrides: _present, ...rest } = spec;
  const { template, overrides = [] } = pinnedContent(content);
  const { name, namespace } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: { ...rest, template, ...(overrides.length === 0 ? {} : { overrides }) },
  };
}

async function write(
  set: FleetSet,
  { name, content }: RecordedRevision,
  fleet: Fleet,
  dryRun: boolean,
): Promise<Answer> {
  const { namespace, name: setName } = set.metadata;
  const ref = { resource: knownResource(fleetSetApiVersion, set.kind), namespace, name: setName };
  const user = await nameOf(() => callerOf(fleet));
  const deed = { what: "undo", reason: `to revision ${name}` } as const;
  const annotations = deedAnnotation(deed, fleet.now(), user);
  try {
    const patch = [...undoPatch(set, content), ...deedPatch(set, annotations)];
    const written = await fleet.askHub((hub, deadline) =>
      hub.patch(ref, patch, { fieldManager, dryRun }, deadline),
    );
    const said = writtenText(`wants revision ${name} again`, dryRun);
    return await told({ ...set, ...written }, said, fleet.flags);
  } catch (error) {
    if (!isOutdatedPatch(error)) throw error;
    return changedMeanwhile(set, "undo");
  }
}

/** The operations that tell who did it. */
export function deedPatch(
  { metadata }: FleetSet,
  annotations: Readonly<Record<string, string>>,
): readonly object[] {
  const place = ["metadata", "annotations"];
  if (metadata.annotations === undefined) {
    // Without annotations the whole map is added: one that somebody writes meanwhile must not go.
    const { resourceVersion } = metadata;
    return [
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "add", path: pointerOf(...place), value: annotations },
    ];
  }
  return Object.entries(annotations).map(([name, value]) => ({
    op: "add",
    path: pointerOf(...place, name),
    value,
  }));
}

/** The JSON Patch that replaces template and overrides. It fails when the spec was changed, or the set made anew, in the meantime. */
export function undoPatch(
  { metadata, spec }: FleetSet,
  content: RevisionContent,
): readonly object[] {
  const { template, overrides = [] } = pinnedContent(content);
  const path = "/spec/overrides";
  const ofOverrides = spec.overrides === undefined ? [] : [{ op: "remove", path }];
  return [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "test", path: "/metadata/generation", value: metadata.generation },
    { op: "replace", path: "/spec/template", value: template },
    ...(overrides.length === 0 ? ofOverrides : [{ op: "add", path, value: overrides }]),
  ];
}
