import type { Clock } from "./time/clock.ts";
import { TokenBucket, type TokenBucketOptions } from "./time/token-bucket.ts";

/** The part of a pino logger that we use. Each line has its fields and a fixed sentence. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Logs a bug in what takes in a watch; see ReflectorHandlers. It is no failure of the cluster that is watched. */
export function logWatchBug(log: Pick<Log, "error">, kind: string): (error: unknown) => void {
  return (err) => log.error({ kind, err }, "A watch has a bug");
}

// How long an account with omitted lines is kept after it is full again.
const rememberedMs = 3_600_000;
const defaults: TokenBucketOptions = { burst: 10, intervalMs: 30_000 };

interface Account {
  readonly bucket: TokenBucket;
  omitted: number;
}

/** Limits the log lines of each subject, so that a profile that flaps does not fill a disk. Security: T-22. */
export class LinePace {
  readonly #clock: Pick<Clock, "now">;
  readonly #options: TokenBucketOptions;
  readonly #accounts = new Map<string, Account>();

  constructor(clock: Pick<Clock, "now">, options: TokenBucketOptions = defaults) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Asks for one more line. Returns the number of lines omitted before it, or undefined when this line must be omitted. */
  admit(subject: string): number | undefined {
    const now = this.#clock.now();
    const account = this.#accounts.get(subject) ?? {
      bucket: new TokenBucket(this.#options),
      omitted: 0,
    };
    this.#accounts.set(subject, account);
    const { bucket, omitted } = account;
    if (bucket.untilMs(now) > 0) {
      account.omitted += 1;
      return undefined;
    }
    bucket.take(now);
    account.omitted = 0;
    this.#forget(now);
    return omitted;
  }

  #forget(now: number): void {
    for (const [subject, { bucket, omitted }] of this.#accounts) {
      if (bucket.fullAt + (omitted === 0 ? 0 : rememberedMs) <= now) this.#accounts.delete(subject);
    }
  }
}
