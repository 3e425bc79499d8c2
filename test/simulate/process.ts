import type { Clock } from "../../access/time/clock.ts";
import type { VirtualTime } from "./virtual-time.ts";

type Kind = "timer" | "answer";

interface Held {
  readonly kind: Kind;
  readonly callback: () => void;
}

/** What runs first after a process stood still: what came first, its timers, or what it was sent. */
export type ThawOrder = "time" | Kind;

/** A process as the machine sees it. While it is frozen nothing of it runs; what was due runs when it thaws, one after the other. */
export class SimulatedProcess {
  readonly #time: VirtualTime;
  #held: Held[] | undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  get isFrozen(): boolean {
    return this.#held !== undefined;
  }

  /** The clock of the process: its time goes on while it is frozen, and its timers do not ring. */
  clock(clock: Clock): Clock {
    return {
      ...clock,
      after: (ms, callback, ...others) => {
        let isSet = true;
        const ring = (): void => {
          if (isSet) callback();
        };
        const timer = clock.after(ms, () => this.#run("timer", ring), ...others);
        return {
          [Symbol.dispose]: () => {
            isSet = false;
            timer[Symbol.dispose]();
          },
        };
      },
    };
  }

  /** Runs the callback of something that was sent to the process, as soon as it runs. */
  receive(callback: () => void): void {
    this.#run("answer", callback);
  }

  freeze(): void {
    this.#held ??= [];
  }

  thaw(order: ThawOrder): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    const first = held.filter(({ kind }) => kind === order);
    const later = held.filter(({ kind }) => kind !== order);
    for (const { kind, callback } of [...first, ...later]) {
      this.#time.after(0, () => this.#run(kind, callback));
    }
  }

  #run(kind: Kind, callback: () => void): void {
    if (this.#held === undefined) callback();
    else this.#held.push({ kind, callback });
  }
}
