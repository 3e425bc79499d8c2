import { FleetError } from "../../api/errors.ts";
import { backoffMs } from "../time/backoff.ts";
import type { Clock } from "../time/clock.ts";
import { abortable } from "../time/deadline.ts";
import type { Credential, CredentialSource } from "./credential.ts";

export interface CredentialSourceOptions {
  /** Gets a new credential, for example by running an exec plugin. */
  readonly obtain: (signal: AbortSignal) => Promise<Credential>;
  /** The wall clock is for the expiry of credentials, the monotonic clock for everything else. */
  readonly clock: Pick<Clock, "now" | "date">;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
  /** First pause after a new credential was rejected too, in ms; default 1,000. It doubles up to 60 s. */
  readonly rejectedPauseMs?: number;
  /** Called with a credential that is dropped, because the server rejected it or the source is disposed. */
  readonly onDropped?: (credential: Credential) => void;
}

const maxSkewMs = 60_000;
const withoutExpiryMs = 15 * 60_000;
// Each run of a failing plugin starts a process and may be a login at a cloud provider. Security: T-22.
const failureBackoff = { firstMs: 1_000, longestMs: 300_000 };
// A rejection after this time is the first of a new row.
const calmMs = 120_000;

interface CurrentCredential {
  readonly credential: Credential;
  /** Time to obtain a new one in the background. */
  readonly isOld: () => boolean;
  /** Too close to its expiry to be used. */
  readonly isExpired: () => boolean;
}

/**
 * Holds the credential of one connection. Callers that wait at the same time share one run. The credential is renewed in the background after 80 % of
 * its life, and at once after the first rejection. Pauses grow while obtaining fails or new credentials are rejected too.
 * Spec: cluster-inventory.md 3.6.
 */
export class RenewingCredentials implements CredentialSource, Disposable {
  readonly #options: CredentialSourceOptions;
  readonly #stop = new AbortController();
  #current: CurrentCredential | undefined;
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
    const current = this.#current;
    const failure = this.#lastingFailure();
    if (current !== undefined && !current.isExpired()) {
      // Callers get the old credential while the new one is obtained. A failure is kept for later callers.
      if (current.isOld() && failure === undefined) this.#obtain().catch(() => undefined);
      return current.credential;
    }
    if (failure !== undefined) throw failure.error;
    return abortable(this.#obtain(), signal);
  }

  reject(credential: Credential): void {
    if (this.#current?.credential !== credential) return;
    this.#drop();
    const now = this.#options.clock.now();
    this.#rejections = now - this.#rejectedAtMs > calmMs ? 1 : this.#rejections + 1;
    this.#rejectedAtMs = now;
    // The first rejection is about an old credential. Further ones mean that new credentials are rejected too.
    if (this.#rejections > 1) {
      const { rejectedPauseMs: firstMs = 1_000 } = this.#options;
      const pauseMs = backoffMs({ firstMs, longestMs: 60_000 }, this.#rejections - 1);
      this.#pause(rejectedError(), pauseMs);
    }
  }

  /** Aborts the plugin that runs. Afterwards `current` only throws. */
  [Symbol.dispose](): void {
    this.#stop.abort(new DOMException("The credential source was closed", "AbortError"));
    this.#drop();
  }

  #drop(): void {
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) this.#options.onDropped?.(current.credential);
  }

  /** The failure whose pause is not over yet. */
  #lastingFailure(): { readonly error: unknown } | undefined {
    const failure = this.#failure;
    return failure !== undefined && this.#options.clock.now() < failure.untilMs
      ? failure
      : undefined;
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
      this.#current = this.#withTimes(credential);
      this.#failure = undefined;
      this.#failures = 0;
      return credential;
    } catch (error) {
      this.#failures += 1;
      this.#pause(error, backoffMs(failureBackoff, this.#failures));
      throw error;
    }
  }

  #pause(error: unknown, waitMs: number): void {
    this.#failure = {
      error,
      untilMs: this.#options.clock.now() + waitMs * (1 + this.#options.random() / 4),
    };
  }

  #withTimes(credential: Credential): CurrentCredential {
    const { clock, random } = this.#options;
    const now = (): number => clock.date().getTime();
    const [obtainedAtMs, since] = [now(), clock.now()];
    const ageMs = (): number => clock.now() - since;
    const jitter = 0.9 + random() / 5;
    const { expiresAtMs } = credential;
    if (expiresAtMs === undefined) {
      return {
        credential,
        isOld: () => ageMs() >= withoutExpiryMs * jitter,
        isExpired: () => false,
      };
    }
    const lifeMs = Math.max(0, expiresAtMs - obtainedAtMs);
    const skewMs = Math.min(maxSkewMs, Math.max(1_000, lifeMs / 10));
    const freshMs = lifeMs * 0.8 * jitter;
    // Any credential is used for a second. Otherwise one that is about to expire would run a plugin for each request.
    const isNew = (): boolean => ageMs() < 1_000;
    return {
      credential,
      // The later of both clocks counts, so that a wall clock that was set back does not delay the renewal.
      isOld: () => !isNew() && Math.max(now() - obtainedAtMs, ageMs()) >= freshMs,
      isExpired: () => !isNew() && now() >= expiresAtMs - skewMs,
    };
  }
}

function rejectedError(): FleetError {
  return new FleetError(
    "AccessProviderFailed",
    "The API server does not accept the credential, also not a fresh one",
    { code: "CredentialRejected" },
  );
}
