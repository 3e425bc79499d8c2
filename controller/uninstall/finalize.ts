import { ApiError } from "../../access/kube/api-error.ts";
import { obstacleIn, withObstacle } from "../../access/kube/obstacle.ts";
import { backoffMs } from "../../access/time/backoff.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { describe, type ObjectKey } from "../../api/kubernetes.ts";
import { assertTakenUp, anchorKey } from "../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import { readAnchor, type Anchor, anchorRef } from "../apply/anchor/anchor.ts";
import type { Log } from "../log.ts";
import type { Remaining } from "../status/progress.ts";
import type { Target } from "../target/target.ts";
import { remnantsMessage, type Remnant } from "./finalize-plan.ts";
import { type FinalizeRequest, sweepScopeOf } from "./finalize-scope.ts";
import { Sweep } from "./finalize-sweep.ts";
import { notAllowed } from "./not-allowed.ts";

export interface Finalized {
  readonly removed: number;
  /** Kind and name of an anchor in our place that belongs to another installation. */
  readonly left?: string;
}

export interface FinalizeDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** Milliseconds to wait for objects that are being deleted before the attempt ends; default 5,000. */
  readonly patienceMs?: number;
  /** Called with the number of remaining objects after each check, but not in the first half second. */
  readonly onProgress?: (remaining: Remaining) => void;
}

const usualPatienceMs = 5_000;
/** After this time the cluster is listed instead of the watches, which may be interrupted, or may not show finalizers yet. */
const viewedMs = 1_000;
const quietMs = 500;

/**
 * Removes the installation of a component from its target, and verifies it: no object with the label of the component is left, and the anchor is gone. It can be stopped
 * at any point and started again. Namespaces, CRDs and objects of others stay. Order: anchor-guard.md 6.3, engine-facts.md 9.
 *
 * An anchor that does not belong to this component, or does not say so, stays with all objects that it owns. `left` names it.
 *
 * Throws FleetError `AnchorConflict` (another hub or component owns the anchor, and objects of ours are there: nothing is deleted), `ClusterBusy` (names the remaining
 * objects; to be repeated later), `ApplyFailed` with code `Forbidden`, or the error of the connection.
 */
export async function finalize(
  request: FinalizeRequest,
  deps: FinalizeDeps,
  signal: AbortSignal,
): Promise<Finalized> {
  const { log, clock, patienceMs = usualPatienceMs } = deps;
  const { component, target } = request;
  const anchor = await readOwnAnchor(request, log, signal);
  if (anchor === "foreign") return { removed: 0, left: describe(anchorKey({ component, target })) };
  const [scope] = await Promise.all([
    sweepScopeOf(anchor, request, signal),
    anchor === undefined ? undefined : markFinalizing(anchor, { component, target }, signal),
  ]);
  const sweep = new Sweep(target.client, scope, log);
  await sweep.removeInventory(signal);
  // The time counts from here: on a slow cluster the deletions themselves take long.
  const patiently = { ...deps, clock, patience: startPatience(clock, patienceMs) };
  await removeRemnants(sweep, patiently, signal);
  if (anchor !== undefined) {
    const patience = startPatience(clock, patienceMs);
    await removeAnchor(anchor, { component, target, patience }, signal);
  }
  log.info({ removed: sweep.removed, hadAnchor: anchor !== undefined }, "Removed the installation");
  return { removed: sweep.removed };
}

/**
 * The anchor, undefined when there is none, `foreign` when it belongs to another installation and no object of this component is on the target. A component that was refused
 * because of that anchor never installed anything, so its removal must succeed.
 */
async function readOwnAnchor(
  { component, target, recall }: FinalizeRequest,
  log: Log,
  signal: AbortSignal,
): Promise<Anchor | "foreign" | undefined> {
  try {
    const anchor = await readAnchor(component, target, signal);
    if (anchor !== undefined) assertTakenUp(anchor.object, { component, target });
    return anchor;
  } catch (error) {
    if (!(error instanceof FleetError) || error.reason !== "AnchorConflict") throw error;
    const unwatched = { component, target, ...(recall === undefined ? {} : { recall }) };
    const scope = await sweepScopeOf(undefined, unwatched, signal);
    const remnants = await new Sweep(target.client, scope, log).findRemnants(signal);
    if (remnants.length > 0) throw error;
    log.info({ err: error }, "Nothing of this component is on a cluster whose anchor is another's");
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
    const remnants = await sweep.findRemnants(signal);
    if (remnants.length === 0) return;
    if (clock.now() - began >= quietMs) onProgress?.(remainingOf(remnants, sweep));
    // Another try would be refused again.
    if (sweep.refusal !== undefined) throw sweep.refusal;
    const stands = remnants.some(({ deleting }) => !deleting);
    if (stands) await sweep.remove(remnants, signal);
    const obstacle = stands ? sweep.obstacle : undefined;
    await patience.pause(
      () => new FleetError("ClusterBusy", remnantsMessage(remnants, obstacle)),
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

/** Marks the anchor of an installation that is being removed, once. A deleted anchor is no error. */
async function markFinalizing(
  anchor: Anchor,
  owner: Pick<Removal, "component" | "target">,
  signal: AbortSignal,
): Promise<void> {
  const { component, target } = owner;
  const { uid } = component.metadata;
  if (anchor.object.metadata.annotations?.[anchorAnnotations.finalizing] === uid) return;
  const annotations = { [anchorAnnotations.finalizing]: uid };
  // The uid protects another anchor with the same name.
  const patch = { metadata: { uid: anchor.uid, annotations } };
  const options = { fieldManager: target.fieldManager, metadataOnly: true };
  try {
    await target.client.patch(anchorRef(owner), patch, options, signal);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return;
    throw refused("Changing", anchor.key, error);
  }
}

/**
 * Deletes the anchor and resolves when it is gone. Reads an anchor that was created again: throws `AnchorConflict` when it belongs to another installation. Throws `ClusterBusy`
 * when a finalizer holds it until the patience ends.
 */
export async function removeAnchor(
  anchor: Anchor,
  removal: Removal,
  signal: AbortSignal,
): Promise<void> {
  const { component, target, patience } = removal;
  let current = anchor;
  while (!(await removeOnce(current, removal, signal))) {
    const left = await readAnchor(component, target, signal);
    if (left === undefined) return;
    current = left;
    const { finalizers = [] } = left.object.metadata;
    const complaint = (): FleetError =>
      new FleetError("ClusterBusy", remnantsMessage([{ key: anchor.key, finalizers }]));
    await patience.pause(complaint, signal);
  }
}

/** Requests the deletion once. True when the answer says that the anchor is gone. */
async function removeOnce(
  anchor: Anchor,
  owner: Pick<Removal, "component" | "target">,
  signal: AbortSignal,
): Promise<boolean> {
  if (anchor.object.metadata.deletionTimestamp !== undefined) return false;
  const options = { propagationPolicy: "Background", uid: anchor.uid } as const;
  try {
    const removal = await owner.target.client.remove(anchorRef(owner), options, signal);
    return removal === "gone" || removal === "absent";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // The anchor has another uid now and is read again. A webhook or policy may also refuse with 409, and is named in the message.
    if (error.status === 409 && obstacleIn(error) === undefined) return false;
    throw refused("Deleting", anchor.key, error);
  }
}

function refused(verb: string, key: ObjectKey, cause: ApiError): FleetError {
  if (cause.status !== 403) {
    const message = withObstacle(`${verb} ${describe(key)} was not possible`, cause);
    return new FleetError("ClusterBusy", message, { cause });
  }
  return notAllowed(`${verb} ${describe(key)}`, cause);
}

/** Pauses that grow from 25 ms to a second, until a deadline. */
export interface Patience {
  /** Pauses a little longer than last time; throws `complaint()` after the deadline. */
  pause(complaint: () => Error, signal: AbortSignal): Promise<void>;
}

const backoff = { firstMs: 25, longestMs: 1_000 };

/** Starts the time of a patience. */
export function startPatience(clock: Clock, totalMs: number): Patience {
  const deadline = clock.now() + totalMs;
  let pauses = 0;
  return {
    async pause(complaint, signal) {
      const leftMs = deadline - clock.now();
      if (leftMs <= 0) throw complaint();
      pauses += 1;
      await delay(clock, Math.min(backoffMs(backoff, pauses), leftMs), signal);
    },
  };
}
