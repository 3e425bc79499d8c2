import type { Clock } from "./time/clock.ts";

/** The part of a pino logger that we use. Each line has its fields and a fixed sentence. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface LinePaceOptions {
  /** How many lines may follow each other at once. */
  readonly burst: number;
  /** Time in which one more line becomes free, in ms. */
  readonly intervalMs: number;
}

// How long an account with omitted lines is kept after it is full again.
const rememberedMs = 3_600_000;
const defaults: LinePaceOptions = { burst: 10, intervalMs: 30_000 };

interface Account {
  /** When a whole burst is free again, by the monotonic clock. */
  fullAt: number;
  omitted: number;
}

/** Limits the log lines of each subject, so that a profile that flaps does not fill a disk. Security: T-22. */
export class LinePace {
  readonly #clock: Pick<Clock, "now">;
  readonly #options: LinePaceOptions;
  readonly #accounts = new Map<string, Account>();

  constructor(clock: Pick<Clock, "now">, options: LinePaceOptions = defaults) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Asks for one more line. Returns the number of lines omitted before it, or undefined when this line must be omitted. */
  admit(subject: string): number | undefined {
    const { burst, intervalMs } = this.#options;
    const now = this.#clock.now();
    const account = this.#accounts.get(subject) ?? { fullAt: now, omitted: 0 };
    const fullAt = Math.max(account.fullAt, now);
    this.#accounts.set(subject, account);
    if (fullAt - now > (burst - 1) * intervalMs) {
      account.omitted += 1;
      return undefined;
    }
    const { omitted } = account;
    account.fullAt = fullAt + intervalMs;
    account.omitted = 0;
    this.#forget(now);
    return omitted;
  }

  #forget(now: number): void {
    for (const [subject, { fullAt, omitted }] of this.#accounts) {
      if (fullAt + (omitted === 0 ? 0 : rememberedMs) <= now) this.#accounts.delete(subject);
    }
  }
}
