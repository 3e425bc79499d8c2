import { FleetError } from "../../api/errors.ts";
import { abortable } from "../deadline.ts";
import type { Credential, CredentialSource } from "./credential.ts";

export interface CredentialSourceOptions {
  /** Gets a new credential, for example by running an exec plugin. */
  readonly obtain: (signal: AbortSignal) => Promise<Credential>;
  /** Time in ms since the epoch, which may be set: the end of a credential is told in it. */
  readonly now: () => number;
  /** Time in ms that only goes on, for everything else. */
  readonly elapsed: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
  /** First pause after a fresh credential was rejected too, in ms; default 1,000. It doubles up to 60 s. */
  readonly rejectedPauseMs?: number;
  /** Called with a credential that is not used any more because the server refused it, or because of the end. */
  readonly onDropped?: (credential: Credential) => void;
}

const maxSkewMs = 60_000;
const withoutExpiryMs = 15 * 60_000;
const minBackoffMs = 1_000;
const maxRejectedPauseMs = 60_000;
// A plugin that fails is a process each time, and may be a login at somebody's cloud. Security: T-22.
const maxBackoffMs = 300_000;
const calmMs = 120_000;

interface Held {
  readonly credential: Credential;
  /** A new one is to be obtained in the background. */
  readonly isOld: () => boolean;
  /** It is not given out any more. */
  readonly isOver: () => boolean;
}

/**
 * Holds one credential: obtained once for all who wait, renewed at 80 % of its life in the background, at most once
 * more after the server rejected it, and with growing pauses when obtaining fails. Spec: cluster-inventory.md 3.6.
 */
export class RenewingCredentials implements CredentialSource, Disposable {
  readonly #options: CredentialSourceOptions;
  readonly #stop = new AbortController();
  #held: Held | undefined;
  #running: Promise<Credential> | undefined;
  #failure: { readonly error: unknown; readonly untilMs: number } | undefined;
  #failures = 0;
  #rejections = 0;
  #rejectedAtMs = 0;

  constructor(options: CredentialSourceOptions) {
    this.#options = options;
  }

  async current(signal: AbortSignal): Promise<Credential> {
    signal.throwIfAborted();
    const held = this.#held;
    const failure = this.#heldFailure();
    if (held !== undefined && !held.isOver()) {
      // Whoever asks meanwhile still gets the old one; a failure is remembered for the next.
      if (held.isOld() && failure === undefined) this.#obtain().catch(() => undefined);
      return held.credential;
    }
    if (failure !== undefined) throw failure.error;
    return abortable(this.#obtain(), signal);
  }

  reject(credential: Credential): void {
    if (this.#held?.credential !== credential) return;
    this.#drop();
    const now = this.#options.elapsed();
    this.#rejections = now - this.#rejectedAtMs > calmMs ? 1 : this.#rejections + 1;
    this.#rejectedAtMs = now;
    // The first rejection is an old credential; the next ones say that fresh ones are no better.
    if (this.#rejections > 1) {
      const firstMs = this.#options.rejectedPauseMs ?? minBackoffMs;
      this.#hold(rejected(), Math.min(maxRejectedPauseMs, firstMs * 2 ** (this.#rejections - 2)));
    }
  }

  /** Ends a running plugin; nothing can be had afterwards. */
  [Symbol.dispose](): void {
    this.#stop.abort(new DOMException("The credential source was closed", "AbortError"));
    this.#drop();
  }

  #drop(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#options.onDropped?.(held.credential);
  }

  /** Why nothing is obtained for a while. */
  #heldFailure(): { readonly error: unknown } | undefined {
    const failure = this.#failure;
    return failure !== undefined && this.#options.elapsed() < failure.untilMs ? failure : undefined;
  }

  #obtain(): Promise<Credential> {
    this.#running ??= this.#obtainOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #obtainOnce(): Promise<Credential> {
    try {
      const credential = await this.#options.obtain(this.#stop.signal);
      this.#stop.signal.throwIfAborted();
      this.#held = this.#heldOf(credential);
      this.#failure = undefined;
      this.#failures = 0;
      return credential;
    } catch (error) {
      this.#failures += 1;
      this.#hold(error, Math.min(maxBackoffMs, minBackoffMs * 2 ** (this.#failures - 1)));
      throw error;
    }
  }

  #hold(error: unknown, waitMs: number): void {
    this.#failure = {
      error,
      untilMs: this.#options.elapsed() + waitMs * (1 + this.#options.random() / 4),
    };
  }

  #heldOf(credential: Credential): Held {
    const { now, elapsed, random } = this.#options;
    const [obtainedAtMs, since] = [now(), elapsed()];
    const ageMs = (): number => elapsed() - since;
    const jitter = 0.9 + random() / 5;
    const { expiresAtMs } = credential;
    if (expiresAtMs === undefined) {
      return {
        credential,
        isOld: () => ageMs() >= withoutExpiryMs * jitter,
        isOver: () => false,
      };
    }
    const lifeMs = Math.max(0, expiresAtMs - obtainedAtMs);
    const skewMs = Math.min(maxSkewMs, Math.max(1_000, lifeMs / 10));
    const freshMs = lifeMs * 0.8 * jitter;
    // One that is about to end serves what is asked within a second, or each request would run a plugin.
    const isNew = (): boolean => ageMs() < 1_000;
    return {
      credential,
      // By its age, too: it ends in time although the wall clock was set back, and the other way round.
      isOld: () => !isNew() && Math.max(now() - obtainedAtMs, ageMs()) >= freshMs,
      isOver: () => !isNew() && now() >= expiresAtMs - skewMs,
    };
  }
}

function rejected(): FleetError {
  return new FleetError(
    "AccessProviderFailed",
    "The API server does not accept the credential, also not a fresh one",
    { code: "CredentialRejected" },
  );
}
