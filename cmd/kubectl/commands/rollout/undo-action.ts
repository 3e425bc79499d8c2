import { isOutdatedPatch } from "../../../../access/kube/api-error.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type FleetSet, fleetSetApiVersion } from "../../../../api/fleet-set.ts";
import { pointerOf } from "../../../../api/json-pointer.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { whoAmI } from "../../../../controller/guard/whoami.ts";
import { isSameWish, pinnedContent } from "../../../../sets/content.ts";
import { type RevisionContent, revisionNameOf } from "../../../../sets/desired-spec.ts";
import type { ActionInput } from "../../action.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { checkWriteFormat, objectText } from "../../output/output-format.ts";
import { commandsOf, stepLine, withHub } from "../../output/steps.ts";
import { documentOutput } from "../../output/terminal.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import {
  readRevisions,
  type RecordedRevision,
  revisionBefore,
  revisionNamed,
} from "./revisions.ts";
import { rolloutCommand } from "./rollout-steps.ts";
import {
  changedMeanwhile,
  deedAnnotation,
  deletedRefusal,
  fieldManager,
  isBeingDeleted,
  nameOf,
  tell,
  tellRefusal,
  writtenText,
} from "./steer-action.ts";

/** Flags of `rollout undo` alone. */
interface UndoFlags {
  readonly toRevision?: string;
  readonly apply?: boolean;
  readonly dryRun?: boolean;
}

type Input = ActionInput<UndoFlags>;

/** `kubectl knfleet rollout undo`. */
export async function runUndo(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  checkWriteFormat(flags);
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const set = await namedSet(input, { access }, signal);
  if (typeof set === "number") return set;
  const revisions = await readRevisions(access, set, signal);
  const current = wantedRevision(set, revisions);
  const { toRevision } = options;
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
    return tellRefusal({ why, next: [rolloutCommand("history", placed)] }, input);
  }
  if (revision.name === current) {
    return await tell(set, `wants revision ${current} already`, input);
  }
  if (options.apply === true && isBeingDeleted(set)) {
    return tellRefusal(deletedRefusal(set), input);
  }
  if (options.apply === true) return await write({ set, revision, access }, input, signal);
  await printSet(set, revision, input);
  if (!flags.quiet) {
    const step = rolloutCommand("undo", placed, "--to-revision", revision.name, "--apply");
    terminal.stderr.write(`${stepLine(withHub(step, commandsOf(flags)))}\n`);
  }
  return exitCodes.fine;
}

/** Name of the revision that the set wants: the newest one when it comes from the same spec, whose exact versions only the controller knows. */
function wantedRevision(set: FleetSet, revisions: readonly RecordedRevision[]): string {
  const newest = revisions.at(-1);
  const isOfSpec = newest !== undefined && isSameWish(newest.content, set.spec);
  return isOfSpec ? newest.name : revisionNameOf(set);
}

async function printSet(
  { apiVersion, kind, metadata, spec }: FleetSet,
  { content }: RecordedRevision,
  { flags, terminal }: Input,
): Promise<void> {
  const { overrides: _present, ...rest } = spec;
  const { template, overrides = [] } = pinnedContent(content);
  const { name, namespace } = metadata;
  const object = {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: { ...rest, template, ...(overrides.length === 0 ? {} : { overrides }) },
  };
  documentOutput(terminal).write(await objectText(object, flags));
}

interface Return {
  readonly set: FleetSet;
  readonly revision: RecordedRevision;
  readonly access: ClusterAccess;
}

async function write(
  { set, revision: { name, content }, access }: Return,
  input: Input,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { options } = input;
  const { namespace } = set.metadata;
  let written: KubeObject;
  const late = () => withTimeout(systemClock, access.hubTimeoutMs, signal);
  const user = await nameOf(async () => (await whoAmI(access.hub, late())).username);
  const told = deedAnnotation(
    { what: "undo", reason: `to revision ${name}` },
    input.terminal.now(),
    user,
  );
  try {
    written = await access.hub.patch(
      { resource: knownResource(fleetSetApiVersion, set.kind), namespace, name: set.metadata.name },
      [...undoPatch(set, content), ...deedPatch(set, told)],
      { fieldManager, dryRun: options.dryRun === true },
      withTimeout(systemClock, access.hubTimeoutMs, signal),
    );
  } catch (error) {
    if (!isOutdatedPatch(error)) throw error;
    return tellRefusal(changedMeanwhile(set, "undo"), input);
  }
  const said = writtenText(`wants revision ${name} again`, options);
  return await tell({ ...set, ...written }, said, input);
}

/** The operations that tell who did it. */
export function deedPatch(
  { metadata }: FleetSet,
  told: Readonly<Record<string, string>>,
): readonly object[] {
  const place = ["metadata", "annotations"];
  if (metadata.annotations === undefined) {
    // Without annotations the whole map is added: one that somebody writes meanwhile must not go.
    const { resourceVersion } = metadata;
    return [
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "add", path: pointerOf(...place), value: told },
    ];
  }
  return Object.entries(told).map(([name, value]) => ({
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
