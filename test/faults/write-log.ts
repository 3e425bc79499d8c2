/** A request to change something that a controller sent through a fault proxy. */
export interface Write {
  /** Counts from 1 since the last `restart`, over all clusters that share the log. */
  readonly number: number;
  /** `performance.now()` when it arrived. */
  readonly atMs: number;
  readonly cluster: string;
  /** Connection it came on; counts over all proxies that share the log. */
  readonly connection: number;
  readonly method: string;
  readonly path: string;
  /** Of a DELETE only; empty for the others. */
  readonly body: string;
  /** The account of its token, `system:serviceaccount:…`. */
  readonly who: string;
  /** Status of the answer; undefined while there is none, or when the request was not let through. */
  status: number | undefined;
}

/** Where a process is to die: when a write has arrived and was not let through, or when the server has answered it. */
export interface KillPoint {
  /** Counts the writes that are meant, from 1. */
  readonly write: number;
  /** Absent: every write. */
  readonly isMeant?: (write: Write) => boolean;
  readonly side: "before" | "after";
  /** Ends the process. */
  readonly kill: () => void;
  /** The process is asked to end and may still write; else nothing of it is let through any more. */
  readonly isGentle?: boolean;
}

/** The writes of a controller to all clusters, in the order of their arrival. */
export class WriteLog {
  #writes: Write[] = [];
  #point: KillPoint | undefined;
  #meant = 0;
  #target: Write | undefined;
  #struck: Write | undefined;
  #connections = 0;

  get writes(): readonly Write[] {
    return this.#writes;
  }

  /** The write at which the process was killed. */
  get struck(): Write | undefined {
    return this.#struck;
  }

  /** A process that is dead sends nothing: what the kernel still holds of it is cut. */
  get isDead(): boolean {
    return this.#struck !== undefined && this.#point?.isGentle !== true;
  }

  /** Forgets all writes and counts from 1 again, with a point at which to kill or without one. */
  restart(point?: KillPoint): void {
    this.#writes = [];
    this.#point = point;
    this.#meant = 0;
    this.#target = undefined;
    this.#struck = undefined;
  }

  /** Lets the next process through; the count goes on. */
  revive(): void {
    this.#point = undefined;
    this.#struck = undefined;
  }

  nextConnection(): number {
    this.#connections += 1;
    return this.#connections;
  }

  /** A write arrived. */
  arrived(facts: Omit<Write, "number" | "atMs" | "status">): Write {
    const number = this.#writes.length + 1;
    const write: Write = { ...facts, number, atMs: performance.now(), status: undefined };
    this.#writes.push(write);
    if (this.#point?.isMeant?.(write) !== false) this.#meant += 1;
    if (this.#target === undefined && this.#meant === this.#point?.write) this.#target = write;
    this.#strike(write, "before");
    return write;
  }

  /** The server has answered it. */
  answered(write: Write, status: number): void {
    write.status = status;
    this.#strike(write, "after");
  }

  #strike(write: Write, side: KillPoint["side"]): void {
    const point = this.#point;
    if (point === undefined || point.side !== side || this.#struck !== undefined) return;
    // "After" waits for the answer of that very write; others may be answered before it.
    if (write !== this.#target) return;
    this.#struck = write;
    point.kill();
  }
}
