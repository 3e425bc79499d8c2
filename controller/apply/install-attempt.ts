import type { Clock } from "../../access/time/clock.ts";
import type { Component } from "../../api/component.ts";
import { objectId } from "../../api/keys.ts";
import { type KubeObject } from "../../api/kubernetes.ts";
import type { Desired, Preparations } from "../../installation/desired.ts";
import type { Inventory } from "../../installation/inventory.ts";
import type { OwnershipQuestion } from "../../installation/sharing.ts";
import { scaledAmong } from "../../installation/strip-manifests.ts";
import type { Rendered } from "../../render/release/releases.ts";
import type { Log } from "../log.ts";
import type { Observation } from "../observe/observation.ts";
import type { PendingChanges } from "../queue/pending-changes.ts";
import type { Target } from "../target/target.ts";
import { type Anchor, type SeenAnchor, writeAnchor } from "./anchor/anchor.ts";
import { applyRequests, type EngineRequests } from "./apply-requests.ts";
import type { Progress, Unadopted } from "./change-set.ts";
import { type Conflict, currentConflicts, withoutOver } from "./filters/conflicts.ts";
import { withWrittenAnchor } from "./install-state.ts";
import type { InstallationMemory } from "./installation-memory.ts";
import type { Unblocked } from "./unblock.ts";

export interface InstallInput {
  readonly component: Component;
  readonly rendered: Rendered;
  readonly target: Target;
  readonly observation: Observation;
  /** The memory of this component on this target. A new memory costs two reads and the lists of the watches. */
  readonly memory: InstallationMemory;
  /** Nothing was ever installed for the component, as far as the hub knows; saves a round trip. Default false. */
  readonly isNew?: boolean;
  /** The installation keeps what its inventory holds; see ../../installation/kept.ts. Default false. */
  readonly isHeld?: boolean;
}

/** The protection of anchors on the target, as an install uses it; see ../guard/cluster-guard.ts. */
export interface AnchorGate {
  /** Resolves when the policies were sent: they come before every other write on the target. */
  waitUntilSent(signal: AbortSignal): Promise<void>;
  /** Resolves when an anchor may be created. Throws FleetError `AnchorUnprotected`. */
  waitUntilOpen(signal: AbortSignal): Promise<void>;
  /** Whether objects need a second owner besides the anchor. */
  needsSecondOwner(signal: AbortSignal): Promise<boolean>;
  /** Has to be called with each anchor that was read. */
  noteAnchor(anchor: KubeObject): void;
}

export interface InstallDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** Shared by all components. */
  readonly preparations: Preparations;
  /**
   * Awaited before the first write; its rejection is thrown. Resolves with the anchor of a new component, which the search for neighbours has read; see neighbours.ts. Absent: the
   * target suits.
   */
  readonly beforeFirstWrite?: (() => Promise<SeenAnchor>) | undefined;
  /**
   * Called while the anchor is being created. Throws FleetError when another installation created its anchor earlier, and the error of the creation. Absent: no
   * other installation can come.
   */
  readonly assertFirst?: (making: Promise<Anchor>, signal: AbortSignal) => Promise<void>;
  /**
   * Called for objects that are new to an installation, and for objects in conflict. Resolves with the objects that another component of the hub has:
   * identity, and a text that names the other component. Resolves with undefined when the controller has no right to look. Absent: no other component
   * has any object.
   */
  readonly holders?: (
    question: OwnershipQuestion,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, string> | undefined>;
  /** Gets the changes that the attempt takes in. Knows whether another change waits for the end of the attempt. Absent: none waits. */
  readonly pendingChanges?:
    | Pick<PendingChanges, "dropPlanned" | "dropSettled" | "hasOthersThan">
    | undefined;
  /** Called at once for each object that is done. */
  readonly onProgress?: (progress: Progress) => void;
  /** Called when the rules of a webhook were emptied; see unblock.ts. */
  readonly onUnblocked?: (unblocked: Unblocked) => void;
  /** Absent: anchors are not protected. */
  readonly gate?: AnchorGate | undefined;
  /** Called with the number of objects that upstream's operator had. Not called when an adoption goes on and finds no more objects. */
  readonly onAdopted?: (count: number) => void;
  /** The anchor of an installation that was there is gone. */
  readonly onAnchorLost?: () => void;
  /** CRDs get the label by which they are guarded. */
  readonly guardsCrds?: boolean;
}

/** One run of an install. */
export interface InstallAttempt extends InstallInput {
  readonly desired: Desired;
  readonly deps: InstallDeps;
}

/** An attempt whose intent is recorded, so that objects may be sent. */
export interface RecordedAttempt extends InstallAttempt {
  readonly anchor: Anchor;
  /** Something may have been installed before. */
  readonly mayExist: boolean;
  /** Awaited before the first object is sent; its rejection is thrown. */
  readonly beforeFirstObject: () => Promise<void>;
  /** Nothing was ever accepted under the anchor, so that `beforeFirstObject` is about everything. */
  readonly isNewcomer: boolean;
  readonly requests: EngineRequests;
  /** The unfinished part of an adoption. */
  readonly unadopted?: Unadopted;
}

/** Adds the requests about objects. */
export function recordedAttempt(attempt: Omit<RecordedAttempt, "requests">): RecordedAttempt {
  const { component, target, anchor, mayExist, memory, deps } = attempt;
  const { client, namespace, fieldManager, hubId } = target;
  const installation = {
    owner: anchor.owner,
    namespace,
    componentUid: component.metadata.uid,
    ...(memory.state.secondOwner && { secondOwner: memory.state.secondOwner }),
    ...(deps.guardsCrds === true && target.profile !== undefined ? { crdGuard: hubId } : {}),
  };
  const isScaled = scaledAmong(attempt.rendered.manifests);
  const requests = applyRequests({ client, fieldManager, installation, mayExist, isScaled });
  return { ...attempt, requests };
}

/** Forgets the conflicts of an installation that are over, and returns the others. Without this, a drift much later would go on with an old conflict. */
export function settleConflicts({
  memory,
  deps,
}: Pick<InstallAttempt, "memory"> & {
  readonly deps: Pick<InstallAttempt["deps"], "clock">;
}): readonly Conflict[] {
  const now = deps.clock.now();
  memory.become((state) => ({
    ...state,
    anchorConflicts: withoutOver(state.anchorConflicts, now),
    conflicts: withoutOver(state.conflicts, now),
  }));
  const { anchorConflicts, conflicts } = memory.state;
  return [...currentConflicts(anchorConflicts, now), ...currentConflicts(conflicts, now)];
}

/** Writes the anchor with an inventory, and remembers both. */
export async function writeInventory(
  { component, target, memory, observation, deps }: InstallAttempt,
  { before, inventory }: { readonly before: Anchor | undefined; readonly inventory: Inventory },
  signal: AbortSignal,
): Promise<Anchor> {
  const anchor = await writeAnchor({ component, target, before }, inventory, signal);
  observation.noteSingle(anchor.object);
  deps.pendingChanges?.dropSettled(objectId(anchor.key));
  memory.become((state) => withWrittenAnchor(state, anchor));
  return anchor;
}
