import { largest } from "../answer-limits.ts";
import { ConnectionError } from "./api-error.ts";

/** How many objects may be kept, and how much memory they may take by the estimate of `sizeOf`. */
interface KeepLimits {
  readonly objects: number;
  readonly bytes: number;
}

interface KeepBudgetOptions {
  /** What one watch may keep: one kind of one cluster. */
  readonly kind: KeepLimits;
  readonly cluster: KeepLimits;
  /** Bytes that each cluster has for itself. What it keeps beyond them comes out of `shared`. */
  readonly own: number;
  /** Bytes that all clusters together may keep beyond their own. */
  readonly shared: number;
  /** Bytes by which `shared` grows with each cluster that keeps something and stays within its own. One that lies cannot make it grow for itself. */
  readonly sharedPerCluster: number;
}

const mebibyte = 1024 * 1024;

/** An installation of both components has some 230 objects, of about 2 kB each. */
const usualLimits: KeepBudgetOptions = {
  kind: { objects: 5_000, bytes: 8 * mebibyte },
  cluster: { objects: 10_000, bytes: 16 * mebibyte },
  own: 4 * mebibyte,
  shared: 32 * mebibyte,
  sharedPerCluster: mebibyte / 2,
};

/** What one watch keeps. Disposing it gives everything back. */
export interface KeepHold extends Disposable {
  /** Takes an object of this size. Throws ConnectionError `tooLarge` above a limit, and for a cluster that has exceeded one. */
  add(bytes: number): void;
  /** Throws the same when the watch may not keep so many objects, which are being listed. */
  foresee(objects: number): void;
  /** Gives an object of this size back. */
  remove(bytes: number): void;
}

/** The share of one connection in the budget. */
export interface ClusterKeep {
  /** Starts the account of a watch. `kind` names what it keeps, for messages. */
  open(kind: string): KeepHold;
}

/**
 * Limits the memory of what watches keep, because a cluster can name objects without end. A cluster that exceeds a limit gets nothing any more: its
 * connection has to be closed, since a part of a list is no picture of a cluster. When all clusters together keep too much, the one that keeps most exceeds.
 */
export class KeepBudget {
  readonly #options: KeepBudgetOptions;
  readonly #clusters = new Set<Cluster>();
  #shared = 0;
  /** How many clusters keep something and stay within their own part. */
  #modest = 0;

  constructor(options: KeepBudgetOptions = usualLimits) {
    this.#options = options;
  }

  /** Returns the share of a new connection. `onExcess` is called at most once. */
  cluster(onExcess: (error: ConnectionError) => void): ClusterKeep {
    const { own, shared, sharedPerCluster } = this.#options;
    const isModest = (bytes: number): number => (bytes > 0 && bytes <= own ? 1 : 0);
    const cluster: Cluster = new Cluster(this.#options, onExcess, (before, after) => {
      this.#shared += Math.max(0, after - own) - Math.max(0, before - own);
      this.#modest += isModest(after) - isModest(before);
      if (after > own) this.#clusters.add(cluster);
      else this.#clusters.delete(cluster);
      // Only what comes costs somebody a place: clusters that go would take those that stay with them.
      if (after <= before) return;
      while (this.#shared > shared + this.#modest * sharedPerCluster) {
        const most = largest(this.#clusters);
        if (most === undefined) return;
        most.exceed("The clusters have more objects than may be kept of all; this one has most");
      }
    });
    return cluster;
  }
}

class Cluster implements ClusterKeep {
  readonly #options: KeepBudgetOptions;
  readonly #onExcess: (error: ConnectionError) => void;
  readonly #onChange: (before: number, after: number) => void;
  #error: ConnectionError | undefined;
  #objects = 0;
  bytes = 0;

  constructor(
    options: KeepBudgetOptions,
    onExcess: (error: ConnectionError) => void,
    onChange: (before: number, after: number) => void,
  ) {
    this.#options = options;
    this.#onExcess = onExcess;
    this.#onChange = onChange;
  }

  open(kind: string): KeepHold {
    const held = { objects: 0, bytes: 0 };
    const change = (objects: number, bytes: number): void => {
      held.objects += objects;
      held.bytes += bytes;
      this.#change(objects, bytes);
    };
    return {
      add: (bytes) => {
        change(1, bytes);
        const { kind: each, cluster } = this.#options;
        this.#check(held, each, kind);
        this.#check({ objects: this.#objects, bytes: this.bytes }, cluster, "objects");
        this.#throwIfExceeded();
      },
      foresee: (objects) => {
        this.#check({ objects, bytes: 0 }, this.#options.kind, kind);
        this.#throwIfExceeded();
      },
      remove: (bytes) => change(-1, -bytes),
      [Symbol.dispose]: () => change(-held.objects, -held.bytes),
    };
  }

  /** Ends the share. Its memory counts as given back, because its connection is closed. */
  exceed(message: string): void {
    if (this.#error !== undefined) return;
    this.#error = new ConnectionError("tooLarge", message);
    this.#onChange(this.bytes, 0);
    this.#onExcess(this.#error);
  }

  #throwIfExceeded(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  #check(held: KeepLimits, most: KeepLimits, what: string): void {
    if (held.objects > most.objects) {
      this.exceed(`The cluster has more than ${most.objects} ${what} with our label`);
    } else if (held.bytes > most.bytes) {
      const size = `${most.bytes / mebibyte} MiB`;
      this.exceed(`The cluster has ${what} with our label that take more than ${size}`);
    }
  }

  #change(objects: number, bytes: number): void {
    const before = this.bytes;
    this.#objects += objects;
    this.bytes += bytes;
    if (this.#error === undefined) this.#onChange(before, this.bytes);
  }
}

// The key of an object in the maps of its watch and of its observers.
const entryBytes = 512;

/** The memory that a kept object takes, in bytes: an estimate that is rather too high. */
export function sizeOf(object: object): number {
  return entryBytes + valueSize(object);
}

function valueSize(value: unknown): number {
  if (typeof value === "string") return 24 + 2 * value.length;
  if (typeof value !== "object" || value === null) return 8;
  let bytes = 32;
  for (const [key, part] of Object.entries(value)) bytes += 16 + key.length + valueSize(part);
  return bytes;
}
