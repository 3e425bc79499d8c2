/** The part of a pino logger that everybody uses: object first, fixed sentence second. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface LinePaceOptions {
  /** So many lines at once. */
  readonly burst: number;
  /** One more in so many milliseconds. */
  readonly intervalMs: number;
}

const rememberedMs = 3_600_000;
const usual: LinePaceOptions = { burst: 10, intervalMs: 30_000 };

interface Account {
  /** When it will have a whole burst again. */
  fullAt: number;
  left: number;
}

/** How many lines of log one subject may cause: a profile that flaps must not fill a disk. Security: T-22. */
export class LinePace {
  readonly #options: LinePaceOptions;
  readonly #accounts = new Map<string, Account>();

  constructor(options: LinePaceOptions = usual) {
    this.#options = options;
  }

  /** How many lines were left out since the last one, when there may be another one now; undefined: there may not. */
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
