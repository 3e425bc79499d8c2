/** The used part of a pino logger: object first, fixed sentence second. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface LinePaceOptions {
  /** How many lines may come at once. */
  readonly burst: number;
  /** Time after which one more line may come, in ms. */
  readonly intervalMs: number;
}

const rememberedMs = 3_600_000;
const defaults: LinePaceOptions = { burst: 10, intervalMs: 30_000 };

interface Account {
  /** When a whole burst may come again, by `performance.now()`. */
  fullAt: number;
  left: number;
}

/** Limits the log lines of one subject: a profile that flaps must not fill a disk. Security: T-22. */
export class LinePace {
  readonly #options: LinePaceOptions;
  readonly #accounts = new Map<string, Account>();

  constructor(options: LinePaceOptions = defaults) {
    this.#options = options;
  }

  /** Asks for one more line. Returns how many lines were left out before it, or undefined when it has to be left out. */
  admit(subject: string): number | undefined {
    const { burst, intervalMs } = this.#options;
    const now = performance.now();
    const account = this.#accounts.get(subject) ?? { fullAt: now, left: 0 };
    const fullAt = Math.max(account.fullAt, now);
    this.#accounts.set(subject, account);
    if (fullAt - now > (burst - 1) * intervalMs) {
      account.left += 1;
      return undefined;
    }
    const { left } = account;
    account.fullAt = fullAt + intervalMs;
    account.left = 0;
    this.#forget(now);
    return left;
  }

  #forget(now: number): void {
    for (const [subject, { fullAt, left }] of this.#accounts) {
      if (fullAt + (left === 0 ? 0 : rememberedMs) <= now) this.#accounts.delete(subject);
    }
  }
}
