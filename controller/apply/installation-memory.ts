import { interned } from "../../api/interned.ts";
import { identityOf, type OwnerReference } from "../../api/kubernetes.ts";
import {
  encodeInventory,
  type Inventory,
  type InventoryEntry,
  mayBeGone,
} from "../../installation/inventory.ts";
import { Sharing } from "../../installation/sharing.ts";
import { VanishedJobs } from "../../installation/vanished-jobs.ts";
import { hashOf } from "../../render/hash.ts";
import type { Root } from "./anchor/anchor.ts";
import { inventoryTextOf } from "./anchor/root-object.ts";
import { Contests } from "./filters/contests.ts";
import { Dismissed } from "./filters/strays.ts";
import { InventoryKinds } from "./inventory-kinds.ts";
import type { Desired } from "./prepare.ts";
import { Blockades } from "./unblock.ts";

/**
 * What this process knows of one installation beyond the inventory on its cluster: what answers told since that was written. Saves the requests of
 * a reconcile that has nothing to do. To be dropped when the component's cluster changes.
 */
export class InstallationMemory {
  readonly contests = new Contests();
  /** Over what the installation stands on, which no plan tells of. */
  readonly groundContests = new Contests();
  readonly blockades = new Blockades();
  readonly jobs = new VanishedJobs();
  readonly kinds = new InventoryKinds();
  readonly sharing = new Sharing();
  readonly dismissed = new Dismissed();
  /** What the last install was about; undefined: there was none. */
  wanted: Desired | undefined;
  /** What was done since the root was lost, and is not to be done again before there is another one. */
  readonly doneAfterLoss = new Set<"told" | "droppedWebhooks">();
  /** Namespaces as they were last found or made to be. */
  namespaces = "";
  /** The second owner that was last found or made. */
  twin: OwnerReference | undefined;
  /** When each object was changed by the last apply that was answered, by identity; see plan.ts. */
  readonly appliedAt = new Map<string, number>();
  /** Identities of what was accepted since the audit was asked for; undefined when there is none. */
  #audited: Set<string> | undefined;
  #rootUid: string | undefined;
  #markedUid: string | undefined;
  #isLost = false;
  /** What was done after the loss, as long as the root that came since may be withdrawn. */
  #doneBefore: readonly ("told" | "droppedWebhooks")[] = [];
  /** Of the inventory as the root has it, without its text, which is long; empty without one. */
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

  /** Goes on from what was last said of contests; empty: nothing. Called again it does nothing. */
  resume(toldContests: string, now: number): void {
    for (const contests of [this.contests, this.groundContests]) contests.begin(toldContests, now);
  }

  /** An audit is due, and the object was not accepted since. */
  isToAudit(id: string): boolean {
    return this.#audited?.has(id) === false;
  }

  /** Of the root that was there when somebody last looked. */
  get rootUid(): string | undefined {
    return this.#rootUid;
  }

  /** The root had all its marks once since this process knows of it; upstream's anchor has them only when it was taken over. */
  wasMarked({ uid }: Root): boolean {
    return uid === this.#markedUid;
  }

  /** A root was there when somebody last looked. */
  get isRooted(): boolean {
    return this.#rootUid !== undefined;
  }

  /** The same, or there was one before it was lost, and none was made since. */
  get wasRooted(): boolean {
    return this.isRooted || this.#isLost;
  }

  /** Undefined while nothing is known. */
  get inventory(): Inventory | undefined {
    if (this.#entries === undefined) return undefined;
    return {
      version: this.#version,
      complete: this.#complete,
      entries: [...this.#entries.values()],
    };
  }

  /** Takes in what was read; knowledge that is newer stays as long as the root says what it last said. */
  recall(root: Root | undefined): void {
    this.#isLost = root === undefined && this.wasRooted;
    if (root !== undefined) this.doneAfterLoss.clear();
    if (root?.isMarked === true) this.#markedUid = root.uid;
    this.#doneBefore = [];
    const text = root === undefined ? "" : inventoryTextOf(root.object);
    const isKnown =
      root !== undefined && root.uid === this.#rootUid && digestOf(text) === this.#digest;
    if (!isKnown) this.#take(root, text);
  }

  /** Takes in what was written. */
  stored(root: Root): void {
    this.#isLost = false;
    if (this.doneAfterLoss.size > 0) this.#doneBefore = [...this.doneAfterLoss];
    this.doneAfterLoss.clear();
    // Sent with them, whatever the answer lacks.
    this.#markedUid = root.uid;
    this.#take(root, inventoryTextOf(root.object));
  }

  /** The root was removed again by ourselves, with nothing under it. */
  withdrawn(): void {
    this.#isLost = false;
    for (const done of this.#doneBefore) this.doneAfterLoss.add(done);
    this.#take(undefined, "");
  }

  /** An object was accepted. */
  record(entry: InventoryEntry): void {
    const id = interned(identityOf(entry));
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

  /** Whether the root says exactly this. */
  isStored(inventory: Inventory): boolean {
    return this.#digest !== "" && digestOf(encodeInventory(inventory)) === this.#digest;
  }

  #take(root: Root | undefined, text: string): void {
    const { inventory } = root ?? {};
    this.#rootUid = root?.uid;
    this.#digest = digestOf(text);
    this.#version = inventory?.version ?? "";
    this.#complete = inventory?.complete ?? false;
    this.#entries =
      inventory && new Map(inventory.entries.map((entry) => [interned(identityOf(entry)), entry]));
  }
}

function digestOf(text: string): string {
  return text === "" ? "" : hashOf(text);
}
