import { ApiError } from "../../access/kube/api-error.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { describe, type ObjectKey } from "../../api/kubernetes.ts";
import { assertTakenUp, anchorKey } from "../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import { readAnchor, type Anchor, anchorRef } from "../apply/anchor/anchor.ts";
import { codeOfRefusal, obstacleIn, withObstacle } from "../apply/refusals.ts";
import type { Target } from "../apply/target.ts";
import type { Log } from "../log.ts";
import type { Observation } from "../observe/observation.ts";
import { type Clock, systemClock, delay } from "../queue/clock.ts";
import type { Remaining } from "../reconcile/progress.ts";
import { leftMessage, type Remnant } from "./finalize-plan.ts";
import { type Recollection, sweepScopeOf } from "./finalize-scope.ts";
import { Sweep } from "./finalize-sweep.ts";

export interface FinalizeRequest {
  readonly component: Component;
  readonly target: Target;
  /** A live view of the installation over the same client: with it nothing has to be listed. It stays the caller's. */
  readonly observation?: Observation;
  /** Asked for what was installed when the anchor does not say it. Absent: everything on the cluster is looked at. */
  readonly recall?: () => Promise<Recollection>;
}

export interface Finalized {
  readonly removed: number;
  /** A root under the name of ours that is not, with its kind. */
  readonly left?: string;
}

export interface FinalizeDeps {
  readonly log: Log;
  readonly clock?: Clock;
  /** How long to wait for objects that are being deleted before the queue is asked to come back, in ms; default 5,000. */
  readonly patienceMs?: number;
  /** Told what is left whenever that was looked at, but not of a removal that takes less than half a second. */
  readonly onProgress?: (remaining: Remaining) => void;
}

const usualPatienceMs = 5_000;
/** What is not seen to go for so long is looked for on the cluster: the view may be cut off, and does not know what holds an object. */
const viewedMs = 1_000;
const quietMs = 500;

/**
 * Removes the installation of a component from its target and returns only when that is verified: nothing with the
 * component's label is left, and its root is gone. Needs no memory of earlier runs: it can be stopped at any point and begun again.
 * Namespaces, CRDs and whatever is not ours stay. Order: anchor-guard.md 6.3, engine-facts.md 9.
 *
 * A root that is another's, or of which nothing says that it is this component's, stays with all that it owns, and is named by `left`.
 *
 * Throws FleetError `AnchorConflict` (another hub or component owns the root, and something of ours is there: nothing is deleted), `ClusterBusy` (names what is
 * still there; come back later), `ApplyFailed` with code `Forbidden`, or the error of the connection.
 */
export async function finalize(
  installed: FinalizeRequest,
  deps: FinalizeDeps,
  signal: AbortSignal,
): Promise<Finalized> {
  const { log, clock = systemClock, patienceMs = usualPatienceMs } = deps;
  const { component, target } = installed;
  const root = await ownRoot(installed, log, signal);
  if (root === "foreign") return { removed: 0, left: describe(anchorKey({ component, target })) };
  const [scope] = await Promise.all([
    sweepScopeOf(root, installed, signal),
    root === undefined ? undefined : markFinalizing(root, { component, target }, signal),
  ]);
  const sweep = new Sweep(target.client, scope, log);
  await sweep.removeInventory(signal);
  // From here on it is waited for what was deleted; how long that takes to ask for on a slow cluster is no part of it.
  const patiently = { ...deps, clock, patience: patienceOf(clock, patienceMs) };
  await removeRemnants(sweep, patiently, signal);
  if (root !== undefined) {
    const patience = patienceOf(clock, patienceMs);
    await removeRoot(root, { component, target, patience }, signal);
  }
  log.info({ removed: sweep.removed, hadRoot: root !== undefined }, "Removed the installation");
  return { removed: sweep.removed };
}

/**
 * The root, undefined when there is none, `foreign` when it is another's and nothing of this component is on the target: a component
 * that was refused for the conflict never installed anything and must be free to go.
 */
async function ownRoot(
  { component, target, recall }: FinalizeRequest,
  log: Log,
  signal: AbortSignal,
): Promise<Anchor | "foreign" | undefined> {
  try {
    const root = await readAnchor(component, target, signal);
    if (root !== undefined) assertTakenUp(root.object, { component, target });
    return root;
  } catch (error) {
    if (!(error instanceof FleetError) || error.reason !== "AnchorConflict") throw error;
    const installed = { component, target, ...(recall === undefined ? {} : { recall }) };
    const scope = await sweepScopeOf(undefined, installed, signal);
    const remnants = await new Sweep(target.client, scope, log).remnants(signal);
    if (remnants.length > 0) throw error;
    log.info({ err: error }, "Nothing of this component is on a cluster whose root is another's");
    return "foreign";
  }
}

interface Patiently extends Pick<FinalizeDeps, "onProgress"> {
  readonly clock: Clock;
  readonly patience: Patience;
}

async function removeRemnants(
  sweep: Sweep,
  { clock, patience, onProgress }: Patiently,
  signal: AbortSignal,
): Promise<void> {
  const began = clock.now();
  for (;;) {
    if (clock.now() - began >= viewedMs) sweep.distrustView();
    const remnants = await sweep.remnants(signal);
    if (remnants.length === 0) return;
    if (clock.now() - began >= quietMs) onProgress?.(remainingOf(remnants, sweep));
    // What was refused for want of a right is refused again.
    if (sweep.refusal !== undefined) throw sweep.refusal;
    const stands = remnants.some(({ deleting }) => !deleting);
    if (stands) await sweep.remove(remnants, signal);
    const obstacle = stands ? sweep.obstacle : undefined;
    await patience.pause(
      () => new FleetError("ClusterBusy", leftMessage(remnants, obstacle)),
      signal,
    );
  }
}

function remainingOf(remnants: readonly Remnant[], { removed }: Sweep): Remaining {
  return { left: remnants.length, total: Math.max(removed, remnants.length) };
}

interface Removal {
  readonly component: Component;
  readonly target: Target;
  readonly patience: Patience;
}

/** Writes on the root that its installation is being removed, once. A root that went meanwhile is no error. */
async function markFinalizing(
  root: Anchor,
  owner: Pick<Removal, "component" | "target">,
  signal: AbortSignal,
): Promise<void> {
  const { component, target } = owner;
  const { uid } = component.metadata;
  if (root.object.metadata.annotations?.[anchorAnnotations.finalizing] === uid) return;
  const annotations = { [anchorAnnotations.finalizing]: uid };
  // With its uid the patch can only meet the root that was judged to be ours.
  const patch = { metadata: { uid: root.uid, annotations } };
  const options = { fieldManager: target.fieldManager, metadataOnly: true };
  try {
    await target.client.patch(anchorRef(owner), patch, options, signal);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return;
    throw refused("Changing", root.key, error);
  }
}

/**
 * Deletes the root and returns when it is gone. A root that was made anew is looked at again: `AnchorConflict` when it is
 * another's. `ClusterBusy` when it is held by a finalizer until patience ends.
 */
export async function removeRoot(
  root: Anchor,
  removal: Removal,
  signal: AbortSignal,
): Promise<void> {
  const { component, target, patience } = removal;
  let current = root;
  while (!(await removeOnce(current, removal, signal))) {
    const left = await readAnchor(component, target, signal);
    if (left === undefined) return;
    current = left;
    const { finalizers = [] } = left.object.metadata;
    const complaint = (): FleetError =>
      new FleetError("ClusterBusy", leftMessage([{ key: root.key, finalizers }]));
    await patience.pause(complaint, signal);
  }
}

/** Asks for the deletion, once; true when the answer says that nothing is left. */
async function removeOnce(
  root: Anchor,
  owner: Pick<Removal, "component" | "target">,
  signal: AbortSignal,
): Promise<boolean> {
  if (root.object.metadata.deletionTimestamp !== undefined) return false;
  const options = { propagationPolicy: "Background", uid: root.uid } as const;
  try {
    const removal = await owner.target.client.remove(anchorRef(owner), options, signal);
    return removal === "gone" || removal === "absent";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Another uid by now: what stands there is looked at next. Webhooks and policies refuse with a status of their own choice, also with this one.
    if (error.status === 409 && obstacleIn(error.message) === undefined) return false;
    throw refused("Deleting", root.key, error);
  }
}

function refused(verb: string, key: ObjectKey, cause: ApiError): FleetError {
  if (cause.status !== 403) {
    const message = withObstacle(`${verb} ${describe(key)} was not possible`, cause);
    return new FleetError("ClusterBusy", message, { cause });
  }
  const sentence = `${verb} ${describe(key)} is not allowed on the target cluster`;
  const message = withObstacle(sentence, cause);
  return new FleetError("ApplyFailed", message, { code: codeOfRefusal(cause), cause });
}

/** Waits that grow from 25 ms to a second, until a deadline. */
export interface Patience {
  /** Waits a little longer than last time; throws what `complaint` says once the deadline has passed. */
  pause(complaint: () => Error, signal: AbortSignal): Promise<void>;
}

const firstPauseMs = 25;
const longestPauseMs = 1_000;

/** The patience begins to run out now. */
export function patienceOf(clock: Clock, totalMs: number): Patience {
  const deadline = clock.now() + totalMs;
  let pauseMs = firstPauseMs;
  return {
    async pause(complaint, signal) {
      const leftMs = deadline - clock.now();
      if (leftMs <= 0) throw complaint();
      await delay(clock, Math.min(pauseMs, leftMs), signal);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    },
  };
}
