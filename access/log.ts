import { WriteRefusedError } from "./http/write-permit.ts";
import { isServerFailure } from "./kube/api-error.ts";
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

/**
 * Logs why an attempt failed. The failure of a server, the end of its time, and a write that is not permitted any more have the level that is given. Everything else is a bug of this
 * program, and an error: it must not look like a failure of somebody else, nor be hidden at `debug`.
 */
export function logFailure<Level extends "debug" | "warn">(
  log: Pick<Log, Level | "error">,
  level: Level,
  fields: { readonly err: unknown; readonly [name: string]: unknown },
  message: string,
): void {
  const { err } = fields;
  const isOver = err instanceof DOMException || err instanceof WriteRefusedError;
  if (isServerFailure(err) || isOver) log[level](fields, message);
  else log.error({ ...fields, attempt: message }, "Internal error");
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
