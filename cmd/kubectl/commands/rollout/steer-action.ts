import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
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
import type { ActionInput } from "../../action.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { readProfile } from "../../hub/profiles.ts";
import { checkWriteFormat, objectText } from "../../output/output-format.ts";
import { commandsOf, renderFailure, withHubSteps } from "../../output/steps.ts";
import { documentOutput } from "../../output/terminal.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import { rolloutCommand } from "./rollout-steps.ts";
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
  readonly dryRun?: boolean;
}

type Input<Options = unknown> = ActionInput<WriteFlags & Options>;

/** `kubectl knfleet rollout approve`. */
export function runApprove(input: Input<GateFlags>, signal: AbortSignal): Promise<ExitCode> {
  const decide: Decide = async (set, user) => approval(set, input.options, await user());
  return steer(input, decide, signal);
}

/** `kubectl knfleet rollout pause`. */
export function runPause(
  input: Input<{ readonly reason?: string }>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { reason } = input.flags;
  const decide: Decide = async (set, user) => pause(set, reason ?? `by ${await user()}`);
  return steer(input, decide, signal);
}

/** `kubectl knfleet rollout resume`. */
export function runResume(input: Input, signal: AbortSignal): Promise<ExitCode> {
  return steer(input, resume, signal);
}

/** `kubectl knfleet rollout retry`. */
export function runRetry(input: Input, signal: AbortSignal): Promise<ExitCode> {
  return steer(input, retry, signal);
}

/** `kubectl knfleet rollout skip`. */
export function runSkip(
  input: Input<Pick<SkipFlags, "stage">>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { cluster, reason } = input.flags;
  return steer(
    input,
    async (set, _, hub) => {
      const steering = skip(set, { ...input.options, cluster, reason });
      if (cluster !== undefined) await checkCluster(clusterRefOf(set, cluster), hub, signal);
      return steering;
    },
    signal,
  );
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

/** `kubectl knfleet rollout abort`. */
export function runAbort(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { reason } = input.flags;
  return steer(input, (set) => abort(set, { reason }), signal);
}

/** `kubectl knfleet rollout accept-selection`. */
export function runAcceptSelection(input: Input, signal: AbortSignal): Promise<ExitCode> {
  return steer(input, acceptSelection, signal);
}

type Decide = (
  set: FleetSet,
  user: () => Promise<string>,
  hub: KubeClient,
) => Steering | Promise<Steering>;

/** How often a set may change between reading and writing. The controller writes its status at any time. */
const tries = 5;

async function steer(input: Input, decide: Decide, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  checkWriteFormat(flags);
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const late = () => withTimeout(systemClock, access.hubTimeoutMs, signal);
  const user = async (): Promise<string> => (await whoAmI(access.hub, late())).username;
  let first: Steering | undefined;
  for (let left = tries; ; left -= 1) {
    // oxlint-disable no-await-in-loop -- each try follows from the one before
    const set = await namedSet(input, { access }, signal);
    if (typeof set === "number") return set;
    const steering = await decideAbout(set, () => decide(set, user, access.hub));
    first ??= steering;
    if (steering.kind === "refused") return tellRefusal(steering, input);
    if (steering.kind === "unchanged") return await tell(set, steering.said, input);
    if (!isSameJson(steering, first)) return tellRefusal(changedMeanwhile(set), input);
    const { namespace, name, uid, resourceVersion } = set.metadata;
    const annotations = await annotationsOf(steering, terminal.now(), user);
    try {
      const written = await access.hub.patch(
        { resource: knownResource(fleetSetApiVersion, set.kind), namespace, name },
        { metadata: { uid, resourceVersion, annotations } },
        { fieldManager, dryRun: options.dryRun === true },
        late(),
      );
      const said = writtenText(steering.said, options);
      const code = await tell({ ...set, ...written }, said, input);
      if (steering.warning === undefined) return code;
      return tellRefusal({ why: steering.warning, next: [] }, input);
    } catch (error) {
      const isConflict = error instanceof ApiError && error.status === 409;
      if (!isConflict || left === 0) throw error;
    }
    // oxlint-enable no-await-in-loop
  }
}

/** What a command decides about a set, unless it is being deleted. */
async function decideAbout(set: FleetSet, decide: () => ReturnType<Decide>): Promise<Steering> {
  return isBeingDeleted(set) ? { kind: "refused", ...deletedRefusal(set) } : decide();
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

/** Why a set is not written that asks for another decision than the one that was read first: nobody has looked at that one. */
export function changedMeanwhile(set: FleetSet, verb = "status"): Refused {
  const why = "The set was changed in the meantime: nothing was written";
  return { why, next: [rolloutCommand(verb, placedSetOf(set))] };
}

export function isBeingDeleted({ metadata }: FleetSet): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Why a set that is being deleted is not written: the controller follows no such change any more. */
export function deletedRefusal(set: FleetSet): Refused {
  const { kind, metadata } = set;
  const why = `${describe({ kind, ...metadata })} is being deleted: nothing was written`;
  return { why, next: [rolloutCommand("status", placedSetOf(set))] };
}

/** Adds the mark of kubectl to the message of a dry run. */
export function writtenText(said: string, { dryRun }: WriteFlags): string {
  return dryRun === true ? `${said} (server dry run)` : said;
}

/** Prints the result for a set: a sentence, or its name or the whole set in other formats. */
export async function tell(
  set: KubeObject,
  said: string,
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): Promise<ExitCode> {
  const title = `${set.kind.toLowerCase()}.knfleet.dev/${set.metadata.name}`;
  const { managedFields: _managers, ...metadata } = set.metadata;
  const whole = { ...set, metadata };
  if (flags.output === "json" || flags.output === "yaml") {
    documentOutput(terminal).write(await objectText(whole, flags));
  } else if (flags.output === "name") terminal.stdout.write(`${title}\n`);
  else terminal.stdout.write(`${plainText(`${title} ${said}`)}\n`);
  return exitCodes.fine;
}

interface Refused {
  readonly why: string;
  readonly causes?: readonly string[];
  readonly next: readonly string[];
}

/** Prints why a command did nothing, and the next steps. */
export function tellRefusal(
  { why, causes = [], next }: Refused,
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): ExitCode {
  const failure = withHubSteps({ error: why, causes, next }, commandsOf(flags));
  terminal.stderr.write(renderFailure(failure));
  return exitCodes.unhealthy;
}
