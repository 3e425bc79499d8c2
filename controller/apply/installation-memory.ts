import { identityOf, type OwnerReference } from "../../api/kubernetes.ts";
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

/**
 * What this process knows of one installation beyond the inventory on its cluster: the answers since that was written. Saves the requests of
 * an attempt that has nothing to do. Dropped when the cluster of the component changes.
 */
export class InstallationMemory {
  readonly conflicts = new Conflicts();
  /** Conflicts over the anchor and the namespaces, which no plan contains. */
  readonly groundConflicts = new Conflicts();
  readonly blockades = new Blockades();
  readonly jobs = new VanishedJobs();
  readonly kinds = new InventoryKinds();
  readonly sharing = new Sharing();
  readonly dismissed = new Dismissed();
  /** The desired set of the last install; undefined: there was none. */
  wanted: Desired | undefined;
  /** Steps that were done since the anchor was lost. They are not repeated before there is another anchor. */
  readonly doneAfterLoss = new Set<"told" | "droppedWebhooks">();
  /** Text of the namespaces as they were last read or written. */
  namespaces = "";
  /** The second owner that was last read or made. */
  secondOwner: OwnerReference | undefined;
  /** When each object was changed by the last apply that was answered, by identity; see plan.ts. */
  readonly appliedAt = new Map<string, number>();
  /** Identities of objects that were accepted since the audit was requested; undefined: none is due. */
  #audited: Set<string> | undefined;
  #anchorUid: string | undefined;
  #markedUid: string | undefined;
  #isLost = false;
  /** What was done after the loss, as long as the anchor that came since may be withdrawn. */
  #doneBefore: readonly ("told" | "droppedWebhooks")[] = [];
  /** Of the inventory as the anchor has it, without its text, which is long; empty without one. */
  #digest = "";
  #version = "";
  #complete = false;
  #entries: Map<string, InventoryEntry> | undefined;

  /** Installs send again what seems to be right, each object until it is accepted; an install in which everything was accepted resets it. */
  get isAuditDue(): boolean {
    return this.#audited !== undefined;
  }

  set isAuditDue(isDue: boolean) {
    this.#audited = isDue ? new Set() : undefined;
  }

  /** Goes on from the conflicts that the status tells of; empty: none. Only the first call counts. */
  resume(toldConflicts: string, now: number): void {
    for (const conflicts of [this.conflicts, this.groundConflicts])
      conflicts.begin(toldConflicts, now);
  }

  /** An audit is due, and the object was not accepted since. */
  isToAudit(id: string): boolean {
    return this.#audited?.has(id) === false;
  }

  /** Uid of the anchor at the last read or write. */
  get anchorUid(): string | undefined {
    return this.#anchorUid;
  }

  /** The anchor had all its marks once since this process knows of it; upstream's anchor has them only when it was taken over. */
  wasMarked({ uid }: Anchor): boolean {
    return uid === this.#markedUid;
  }

  /** There was an anchor at the last read or write. */
  get hasAnchor(): boolean {
    return this.#anchorUid !== undefined;
  }

  /** There is an anchor, or it was lost and none was made since. */
  get hadAnchor(): boolean {
    return this.hasAnchor || this.#isLost;
  }

  /** Undefined while no inventory was read or written. */
  get inventory(): Inventory | undefined {
    if (this.#entries === undefined) return undefined;
    return {
      version: this.#version,
      complete: this.#complete,
      entries: [...this.#entries.values()],
    };
  }

  /** Takes in the anchor that was read. Newer answers stay as long as the inventory in it is the same. */
  recall(anchor: Anchor | undefined): void {
    this.#isLost = anchor === undefined && this.hadAnchor;
    if (anchor !== undefined) this.doneAfterLoss.clear();
    if (anchor?.isMarked === true) this.#markedUid = anchor.uid;
    this.#doneBefore = [];
    const text = anchor === undefined ? "" : inventoryTextOf(anchor.object);
    const isKnown =
      anchor !== undefined && anchor.uid === this.#anchorUid && digestOf(text) === this.#digest;
    if (!isKnown) this.#take(anchor, text);
  }

  /** Takes in the anchor that was written. */
  stored(anchor: Anchor): void {
    this.#isLost = false;
    if (this.doneAfterLoss.size > 0) this.#doneBefore = [...this.doneAfterLoss];
    this.doneAfterLoss.clear();
    // Sent with them, whatever the answer lacks.
    this.#markedUid = anchor.uid;
    this.#take(anchor, inventoryTextOf(anchor.object));
  }

  /** The anchor was removed again by ourselves, with nothing under it. */
  withdrawn(): void {
    this.#isLost = false;
    for (const done of this.#doneBefore) this.doneAfterLoss.add(done);
    this.#take(undefined, "");
  }

  /** An object was accepted. */
  record(entry: InventoryEntry): void {
    const id = identityOf(entry);
    this.#audited?.add(id);
    this.#entries?.set(id, entry);
    if (mayBeGone(entry)) this.jobs.saw(id);
  }

  /** What was last accepted of an object; undefined when that is not known. */
  entryOf(id: string): InventoryEntry | undefined {
    return this.#entries?.get(id);
  }

  /** The inventory of a set with what is known of each object, but no hash of what is to be replaced: see inventory.ts. */
  inventoryOf({ objects, version }: Desired, complete: boolean): Inventory {
    const entries = objects.map(({ id, key, hash }) => {
      const known = this.#entries?.get(id) ?? { ...key, hash: "" };
      return known.hash === hash ? known : { ...known, hash: "" };
    });
    return { version, complete, entries };
  }

  /** Whether the anchor says exactly this. */
  isStored(inventory: Inventory): boolean {
    return this.#digest !== "" && digestOf(encodeInventory(inventory)) === this.#digest;
  }

  #take(anchor: Anchor | undefined, text: string): void {
    const { inventory } = anchor ?? {};
    this.#anchorUid = anchor?.uid;
    this.#digest = digestOf(text);
    this.#version = inventory?.version ?? "";
    this.#complete = inventory?.complete ?? false;
    this.#entries =
      inventory && new Map(inventory.entries.map((entry) => [identityOf(entry), entry]));
  }
}

function digestOf(text: string): string {
  return text === "" ? "" : hashOf(text);
}
