import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { ClusterProfileRef } from "../../../../api/component.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import { FleetError } from "../../../../api/errors.ts";
import { isSameJson } from "../../../../api/fields.ts";
import {
  type FleetSet,
  fleetSetApiVersion,
  steering as steeringKeys,
} from "../../../../api/fleet-set.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { describe, type KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { whoAmI } from "../../../../controller/guard/whoami.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { readProfile } from "../../hub/profiles.ts";
import { rolloutCommand } from "../../hub/rollout-steps.ts";
import { type Answer, refusal } from "../../main/report.ts";
import { checkWriteFormat, isTable, objectText } from "../../output/output-format.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import {
  abort,
  clusterRefOf,
  acceptSelection,
  approval,
  type GateFlags,
  pause,
  resume,
  retry,
  skip,
  type SkipFlags,
  type Steering,
} from "./steering.ts";

/** Field manager of our writes on the hub. The name does not begin with `kubectl`, because Flux reverts writes of managers whose name does. */
export const fieldManager = "knfleet-cli";

/** Flag of the commands that write. */
interface WriteFlags {
  readonly dryRun: boolean;
}

/** `rollout approve`. */
export function approveStage(fleet: Fleet, options: GateFlags & WriteFlags): Promise<Answer> {
  return steer(fleet, options, async (set, user) => approval(set, options, await user()));
}

/** `rollout pause`. */
export function pauseRollout(fleet: Fleet, options: WriteFlags): Promise<Answer> {
  const { reason } = fleet.flags;
  return steer(fleet, options, async (set, user) => pause(set, reason ?? `by ${await user()}`));
}

/** `rollout resume`. */
export function resumeRollout(fleet: Fleet, options: WriteFlags): Promise<Answer> {
  return steer(fleet, options, resume);
}

/** `rollout retry`. */
export function retryRevision(fleet: Fleet, options: WriteFlags): Promise<Answer> {
  return steer(fleet, options, retry);
}

/** `rollout skip`. */
export function skipPart(
  fleet: Fleet,
  options: Pick<SkipFlags, "stage"> & WriteFlags,
): Promise<Answer> {
  const { cluster, reason } = fleet.flags;
  return steer(fleet, options, async (set, _, hub) => {
    const steering = skip(set, { stage: options.stage, cluster, reason });
    if (cluster !== undefined) await checkCluster(clusterRefOf(set, cluster), hub, fleet.signal);
    return steering;
  });
}

/** `rollout abort`. */
export function abortRollout(fleet: Fleet, options: WriteFlags): Promise<Answer> {
  const { reason } = fleet.flags;
  return steer(fleet, options, (set) => abort(set, { reason }));
}

/** `rollout accept-selection`. */
export function acceptShrink(fleet: Fleet, options: WriteFlags): Promise<Answer> {
  return steer(fleet, options, acceptSelection);
}

/** A name with a typo would be skipped, and nothing would change. Throws FleetError `ClusterProfileNotFound`. */
async function checkCluster(
  ref: ClusterProfileRef,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  await readProfile(ref, hub, signal).catch((error: unknown) => {
    // Who may skip need not be able to read it.
    if (error instanceof FleetError && error.reason === "ClusterProfileNotFound") throw error;
  });
}

type Decide = (
  set: FleetSet,
  user: () => Promise<string>,
  hub: KubeClient,
) => Steering | Promise<Steering>;

/** How often a set may change between reading and writing. The controller writes its status at any time. */
const tries = 5;

async function steer(fleet: Fleet, { dryRun }: WriteFlags, decide: Decide): Promise<Answer> {
  const { flags } = fleet;
  checkWriteFormat(flags);
  const { hub } = await fleet.access();
  const user = (): Promise<string> => callerOf(fleet);
  let first: Steering | undefined;
  for (let left = tries; ; left -= 1) {
    // oxlint-disable no-await-in-loop -- each try follows from the one before
    const set = await namedSet(fleet);
    if (!("kind" in set)) return set;
    const steering = await decideAbout(set, () => decide(set, user, hub));
    first ??= steering;
    if (steering.kind === "refused") return refusal(steering.why, steering.next);
    if (steering.kind === "unchanged") return await told(set, steering.said, flags);
    if (!isSameJson(steering, first)) return changedMeanwhile(set);
    const { namespace, name, uid, resourceVersion } = set.metadata;
    const ref = { resource: knownResource(fleetSetApiVersion, set.kind), namespace, name };
    const annotations = await annotationsOf(steering, fleet.now(), user);
    try {
      const patch = { metadata: { uid, resourceVersion, annotations } };
      const written = await fleet.askHub((asked, deadline) =>
        asked.patch(ref, patch, { fieldManager, dryRun }, deadline),
      );
      const answer = await told({ ...set, ...written }, writtenText(steering.said, dryRun), flags);
      const { warning } = steering;
      return warning === undefined ? answer : { ...answer, ...refusal(warning, []) };
    } catch (error) {
      const isConflict = error instanceof ApiError && error.status === 409;
      if (!isConflict || left === 0) throw error;
    }
    // oxlint-enable no-await-in-loop
  }
}

/** What a command decides about a set, unless it is being deleted. */
async function decideAbout(set: FleetSet, decide: () => ReturnType<Decide>): Promise<Steering> {
  return isBeingDeleted(set) ? { kind: "refused", ...deletedSet(set) } : decide();
}

/** What is written, with the deed for the record. */
async function annotationsOf(
  { annotations, deed }: Extract<Steering, { kind: "write" }>,
  now: Date,
  user: () => Promise<string>,
): Promise<Readonly<Record<string, string | null>>> {
  if (deed === undefined) return annotations;
  return { ...annotations, ...deedAnnotation(deed, now, await nameOf(user)) };
}

/** The name of the caller, as the hub knows it. Throws the errors of KubeClient. */
export async function callerOf(fleet: Fleet): Promise<string> {
  return (await fleet.askHub(whoAmI)).username;
}

/** The name of the caller; undefined on a hub before Kubernetes 1.28, which cannot tell it. Any other failure is thrown: a record without a name proves little. */
export async function nameOf(user: () => Promise<string>): Promise<string | undefined> {
  try {
    return await user();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** The annotation that tells the controller who did something, for the record of the revision. */
export function deedAnnotation(
  { what, ...more }: NonNullable<Extract<Steering, { kind: "write" }>["deed"]>,
  now: Date,
  user: string | undefined,
): Readonly<Record<string, string>> {
  const deed = { at: timestampOf(now), ...(user === undefined ? {} : { user }), ...more };
  return { [`${steeringKeys.did}${what}`]: JSON.stringify(deed) };
}

/** The answer when the set was changed meanwhile and the decision would be another one now. Nothing is written, because nobody has seen the new state. */
export function changedMeanwhile(set: FleetSet, verb = "status"): Answer {
  const next = [rolloutCommand(verb, placedSetOf(set))];
  return refusal("The set was changed in the meantime: nothing was written", next);
}

export function isBeingDeleted({ metadata }: FleetSet): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Why a set that is being deleted is not written: the controller follows no such change any more. */
export function deletedSet(set: FleetSet) {
  const { kind, metadata } = set;
  const why = `${describe({ kind, ...metadata })} is being deleted: nothing was written`;
  return { why, next: [rolloutCommand("status", placedSetOf(set))] };
}

/** Adds the mark of kubectl to the message of a dry run. */
export function writtenText(said: string, dryRun: boolean): string {
  return dryRun ? `${said} (server dry run)` : said;
}

/** The result for a set: a sentence, or its name or the whole set in other formats. */
export async function told(set: KubeObject, said: string, flags: Flags): Promise<Answer> {
  const title = `${set.kind.toLowerCase()}.knfleet.dev/${set.metadata.name}`;
  const { managedFields: _managers, ...metadata } = set.metadata;
  if (flags.output === "name") return { text: `${title}\n` };
  if (isTable(flags)) return { text: `${plainText(`${title} ${said}`)}\n` };
  return { text: await objectText({ ...set, metadata }, flags) };
}
