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
import { VanishedJobs } from "../../installation/jobs.ts";
import { Sharing } from "../../installation/sharing.ts";
import { Dismissed } from "../../installation/strays.ts";
import { hashOf } from "../../render/fields.ts";
import type { Anchor } from "./anchor/anchor.ts";
import { Conflicts } from "./filters/conflicts.ts";
import { InventoryKinds } from "./inventory-kinds.ts";
import { Blockades } from "./unblock.ts";
import { WebhookNames } from "./webhook-names.ts";

/** A step after the loss of an anchor. It is done once for each lost anchor. */
export type LossStep = "reported" | "droppedWebhooks";

/** The state of the anchor of an installation. `lossSteps`: the steps done since the last anchor was read. */
export type InstallState =
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
  readonly entries: Map<string, InventoryEntry>;
}

/**
 * The knowledge of this process about one installation beyond the inventory on its cluster: the answers since the inventory was written. It saves the
 * requests of an attempt that has nothing to do. It is dropped when the cluster of the component changes.
 */
export class InstallationMemory {
  readonly conflicts = new Conflicts();
  /** Conflicts over the anchor and the namespaces, which no plan contains. */
  readonly anchorConflicts = new Conflicts();
  readonly blockades = new Blockades();
  readonly webhooks = new WebhookNames();
  readonly jobs = new VanishedJobs();
  readonly kinds = new InventoryKinds();
  readonly sharing = new Sharing();
  readonly dismissed = new Dismissed();
  /** The desired set of the last install; undefined: there was none. */
  desired: Desired | undefined;
  /** Text of the namespaces as they were last read or written. */
  namespaces = "";
  /** The second owner that was last read or made. */
  secondOwner: OwnerReference | undefined;
  /** When each object was changed by the last apply that was answered, by identity; see plan.ts. */
  readonly appliedAt = new Map<string, number>();
  /** Identities of objects that were accepted since the audit was requested; undefined: none is due. */
  #audited: Set<string> | undefined;
  #state: InstallState = { kind: "none", lossSteps: new Set() };

  get state(): InstallState {
    return this.#state;
  }

  /** Installs send objects again that look right, each object until it is accepted. An install in which every object was accepted resets this. */
  get isAuditDue(): boolean {
    return this.#audited !== undefined;
  }

  set isAuditDue(isDue: boolean) {
    this.#audited = isDue ? new Set() : undefined;
  }

  /** Continues the conflicts in the status; empty: none. Only the first call counts. */
  resume(toldConflicts: string, now: number): void {
    for (const conflicts of [this.conflicts, this.anchorConflicts])
      conflicts.begin(toldConflicts, now);
  }

  /** An audit is due, and the object was not accepted since. */
  isToAudit(id: string): boolean {
    return this.#audited?.has(id) === false;
  }

  /** The anchor had all its marks once since this process knows of it; upstream's anchor has them only when it was taken over. */
  wasMarked({ uid }: Anchor): boolean {
    return this.#state.kind === "anchored" && this.#state.uid === uid && this.#state.wasMarked;
  }

  /** Undefined while no inventory was read or written. */
  get inventory(): Inventory | undefined {
    const known = this.#inventory;
    return known && { ...known, entries: [...known.entries.values()] };
  }

  /** Takes in the anchor that was read. Newer answers stay as long as the inventory in the anchor did not change. */
  recall(anchor: Anchor | undefined): void {
    const before = this.#state;
    const lossSteps = new Set<LossStep>();
    if (anchor === undefined) {
      if (before.kind === "anchored") this.#state = { kind: "lost", lossSteps };
      return;
    }
    const same = before.kind === "anchored" && before.uid === anchor.uid ? before : undefined;
    const wasMarked = anchor.isMarked || same?.wasMarked === true;
    const digest = digestOf(inventoryTextOf(anchor.object));
    this.#state =
      digest === same?.digest
        ? { ...same, wasMarked, lossSteps }
        : anchoredState(anchor, { wasMarked, lossSteps });
  }

  /** Takes in the anchor that was written. Its marks were sent with it, whatever the answer lacks. */
  noteWritten(anchor: Anchor): void {
    this.#state = anchoredState(anchor, { ...this.#state, wasMarked: true });
  }

  /** We removed our anchor again, with nothing under it. */
  noteWithdrawn(): void {
    this.#state = { kind: "none", lossSteps: this.#state.lossSteps };
  }

  noteLossStep(step: LossStep): void {
    this.#state = { ...this.#state, lossSteps: new Set([...this.#state.lossSteps, step]) };
  }

  /** An object was accepted. */
  record(entry: InventoryEntry): void {
    const id = objectId(entry);
    this.#audited?.add(id);
    this.#inventory?.entries.set(id, entry);
    if (mayBeGone(entry)) this.jobs.saw(id);
  }

  /** The state of an object that was accepted last. Undefined when it is not known. */
  entryOf(id: string): InventoryEntry | undefined {
    return this.#inventory?.entries.get(id);
  }

  /** The inventory of a set with the known state of each object. Objects that will be replaced have no hash: see inventory.ts. */
  inventoryOf({ objects, version, kept = [] }: Desired, complete: boolean): Inventory {
    const entries = objects.map(({ id, key, hash, sentHash }) => {
      const known = this.entryOf(id) ?? { ...key, hash: "" };
      return [hash, sentHash].includes(known.hash) ? known : { ...known, hash: "" };
    });
    return { version, complete, entries: [...entries, ...kept] };
  }

  /** Whether the anchor has exactly this inventory. */
  isStored(inventory: Inventory): boolean {
    return (
      this.#state.kind === "anchored" && this.#state.digest === digestOf(encodeInventory(inventory))
    );
  }

  get #inventory(): KnownInventory | undefined {
    return this.#state.kind === "anchored" ? this.#state.inventory : undefined;
  }
}

function anchoredState(
  { uid, inventory, object }: Anchor,
  { wasMarked, lossSteps }: Pick<InstallState & { kind: "anchored" }, "wasMarked" | "lossSteps">,
): InstallState {
  const entries = new Map(inventory?.entries.map((entry) => [objectId(entry), entry]));
  return {
    kind: "anchored",
    lossSteps,
    uid,
    wasMarked,
    digest: digestOf(inventoryTextOf(object)),
    inventory: inventory && { version: inventory.version, complete: inventory.complete, entries },
  };
}

function digestOf(text: string): string {
  return text === "" ? "" : hashOf(text);
}
