import { objectId } from "../../api/keys.ts";
import { type OwnerReference } from "../../api/kubernetes.ts";
import { inventoryTextOf } from "../../installation/anchor-object.ts";
import type { Desired } from "../../installation/desired.ts";
import {
  encodeInventory,
  type Inventory,
  type InventoryEntry,
  mayBeGone,
} from "../../installation/inventory.ts";
import { type JobSights, withLiveJob } from "../../installation/jobs.ts";
import type { Dismissed } from "../../installation/strays.ts";
import { hashOf } from "../../render/fields.ts";
import type { Anchor } from "./anchor/anchor.ts";
import { type Conflicts, continueConflicts, noConflicts } from "./filters/conflicts.ts";
import type { Blockades } from "./unblock.ts";

/** A step after the loss of an anchor. It is done once for each lost anchor. */
type LossStep = "reported" | "droppedWebhooks";

/** The anchor of an installation, as far as this process knows. `lossSteps`: the steps done since the last anchor was read. */
type AnchorState =
  /** No anchor was read or written, or ours was withdrawn with nothing under it. */
  | { readonly kind: "none"; readonly lossSteps: ReadonlySet<LossStep> }
  /** The anchor is gone, and no new one was written since. */
  | { readonly kind: "lost"; readonly lossSteps: ReadonlySet<LossStep> }
  | {
      readonly kind: "anchored";
      readonly lossSteps: ReadonlySet<LossStep>;
      readonly uid: string;
      /** This process saw or wrote it with all its marks. */
      readonly wasMarked: boolean;
      /** Hash of the text of the inventory, because the text is long. Empty without an inventory. */
      readonly digest: string;
      readonly inventory: KnownInventory | undefined;
    };

/** The inventory of an anchor, with the answers since it was written. */
interface KnownInventory extends Pick<Inventory, "version" | "complete"> {
  readonly entries: ReadonlyMap<string, InventoryEntry>;
}

/**
 * The knowledge of this process about one installation beyond the inventory on its cluster: the answers since the inventory was written. It saves the
 * requests of an attempt that has nothing to do. A state never changes: each step of an install makes the next one of it; see installation-memory.ts.
 */
export interface InstallState {
  readonly anchor: AnchorState;
  readonly conflicts: Conflicts;
  /** Conflicts over the anchor and the namespaces, which no plan contains. */
  readonly anchorConflicts: Conflicts;
  readonly blockades: Blockades;
  readonly jobs: JobSights;
  /** Shared objects left to other components, by identity, each with a text that names its owner. Result of the last question. */
  readonly left: ReadonlyMap<string, string>;
  /** Identities of objects that were never accepted and that no other component has. */
  readonly free: ReadonlySet<string>;
  readonly dismissed: Dismissed;
  /** The desired set of the last install; undefined: there was none. */
  readonly desired: Desired | undefined;
  /** Text of the namespaces as they were last read or written. */
  readonly namespaces: string;
  /** The second owner that was last read or made. */
  readonly secondOwner: OwnerReference | undefined;
  /** When each object was changed by the last apply that was answered, by identity; see plan.ts. */
  readonly appliedAt: ReadonlyMap<string, number>;
  /** Identities of objects that were accepted since the audit was requested; undefined: none is due. */
  readonly audited: ReadonlySet<string> | undefined;
}

export const initialState: InstallState = {
  anchor: { kind: "none", lossSteps: new Set() },
  conflicts: noConflicts,
  anchorConflicts: noConflicts,
  blockades: new Map(),
  jobs: new Map(),
  left: new Map(),
  free: new Set(),
  dismissed: new Map(),
  desired: undefined,
  namespaces: "",
  secondOwner: undefined,
  appliedAt: new Map(),
  audited: undefined,
};

/** After the anchor was read. Newer answers stay as long as the inventory in the anchor did not change. */
export function withReadAnchor(state: InstallState, read: Anchor | undefined): InstallState {
  const before = state.anchor;
  const lossSteps = new Set<LossStep>();
  if (read === undefined) {
    return before.kind === "anchored" ? { ...state, anchor: { kind: "lost", lossSteps } } : state;
  }
  const same = before.kind === "anchored" && before.uid === read.uid ? before : undefined;
  const wasMarked = read.isMarked || same?.wasMarked === true;
  const isKnown = digestOf(inventoryTextOf(read.object)) === same?.digest;
  const anchor = isKnown
    ? { ...same, wasMarked, lossSteps }
    : anchoredState(read, { wasMarked, lossSteps });
  return { ...state, anchor };
}

/** After the anchor was written. Its marks were sent with it, whatever the answer lacks. */
export function withWrittenAnchor(state: InstallState, written: Anchor): InstallState {
  const { lossSteps } = state.anchor;
  return { ...state, anchor: anchoredState(written, { wasMarked: true, lossSteps }) };
}

/** After we removed our anchor again, with nothing under it. */
export function withoutAnchor(state: InstallState): InstallState {
  return { ...state, anchor: { kind: "none", lossSteps: state.anchor.lossSteps } };
}

export function withLossStep(state: InstallState, step: LossStep): InstallState {
  const { anchor } = state;
  return { ...state, anchor: { ...anchor, lossSteps: new Set([...anchor.lossSteps, step]) } };
}

/** An object that was accepted. `appliedAt`: when the apply changed it, where that is known. */
export interface Accepted {
  readonly entry: InventoryEntry;
  readonly appliedAt?: number | undefined;
}

/** After objects were accepted, in their order. One copy serves all of them: an install has some 200. */
export function withAccepted(state: InstallState, accepted: readonly Accepted[]): InstallState {
  const byId = accepted.map((one) => [objectId(one.entry), one] as const);
  const times = byId.flatMap(([id, { appliedAt }]) =>
    appliedAt === undefined ? [] : [[id, appliedAt] as const],
  );
  const jobs = byId.filter(([, { entry }]) => mayBeGone(entry));
  return {
    ...state,
    anchor: withEntries(
      state.anchor,
      byId.map(([id, { entry }]) => [id, entry]),
    ),
    appliedAt: new Map([...state.appliedAt, ...times]),
    audited: state.audited && new Set([...state.audited, ...byId.map(([id]) => id)]),
    jobs: jobs.reduce((all, [id]) => withLiveJob(all, id), state.jobs),
  };
}

/** Installs send objects again that look right, each object until it is accepted. An install in which every object was accepted ends the audit. */
export function withAudit(state: InstallState): InstallState {
  return { ...state, audited: new Set() };
}

/** Continues the conflicts in the status; empty: none. Only the first call counts. */
export function withReportedConflicts(
  state: InstallState,
  message: string,
  now: number,
): InstallState {
  return {
    ...state,
    conflicts: continueConflicts(state.conflicts, message, now),
    anchorConflicts: continueConflicts(state.anchorConflicts, message, now),
  };
}

/** An audit is due, and the object was not accepted since. */
export function isToAudit({ audited }: InstallState, id: string): boolean {
  return audited?.has(id) === false;
}

/** The anchor had all its marks once since this process knows of it; upstream's anchor has them only when it was taken over. */
export function wasAnchorMarked({ anchor }: InstallState, { uid }: Anchor): boolean {
  return anchor.kind === "anchored" && anchor.uid === uid && anchor.wasMarked;
}

/** Whether an inventory was read or written. */
export function hasInventory({ anchor }: InstallState): boolean {
  return anchor.kind === "anchored" && anchor.inventory !== undefined;
}

/** Undefined while no inventory was read or written. */
export function inventoryOf({ anchor }: InstallState): Inventory | undefined {
  if (anchor.kind !== "anchored" || anchor.inventory === undefined) return undefined;
  return { ...anchor.inventory, entries: [...anchor.inventory.entries.values()] };
}

/** The state of an object that was accepted last. Undefined when it is not known. */
export function entryOf({ anchor }: InstallState, id: string): InventoryEntry | undefined {
  return anchor.kind === "anchored" ? anchor.inventory?.entries.get(id) : undefined;
}

/** The inventory of a set with the known state of each object. Objects that will be replaced have no hash: see inventory.ts. */
export function inventoryFor(
  state: InstallState,
  { objects, version, kept = [] }: Desired,
  complete: boolean,
): Inventory {
  const entries = objects.map(({ id, key, hash, sentHash }) => {
    const known = entryOf(state, id) ?? { ...key, hash: "" };
    return [hash, sentHash].includes(known.hash) ? known : { ...known, hash: "" };
  });
  return { version, complete, entries: [...entries, ...kept] };
}

/** Whether the anchor has exactly this inventory. */
export function isStored({ anchor }: InstallState, inventory: Inventory): boolean {
  return anchor.kind === "anchored" && anchor.digest === digestOf(encodeInventory(inventory));
}

function withEntries(
  anchor: AnchorState,
  accepted: readonly (readonly [id: string, entry: InventoryEntry])[],
): AnchorState {
  if (anchor.kind !== "anchored" || anchor.inventory === undefined) return anchor;
  const entries = new Map([...anchor.inventory.entries, ...accepted]);
  return { ...anchor, inventory: { ...anchor.inventory, entries } };
}

function anchoredState(
  { uid, inventory, object }: Anchor,
  known: Pick<AnchorState & { kind: "anchored" }, "wasMarked" | "lossSteps">,
): AnchorState {
  const entries = new Map(inventory?.entries.map((entry) => [objectId(entry), entry]));
  return {
    kind: "anchored",
    ...known,
    uid,
    digest: digestOf(inventoryTextOf(object)),
    inventory: inventory && { version: inventory.version, complete: inventory.complete, entries },
  };
}

function digestOf(text: string): string {
  return text === "" ? "" : hashOf(text);
}
