import { ApiError } from "../../access/kube/api-error.ts";
import type { CollectionRef, KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { Log } from "../log.ts";

/** A connection to the hub that the leader works over. */
export interface WorkConnection {
  readonly client: Pick<KubeClient, "list" | "watch">;
  /** Sends later requests over a new connection. Running requests end with an error. */
  exchange(): void;
}

export interface LeaseEchoOptions {
  readonly clock: Clock;
  readonly connection: WorkConnection;
  /** Selects the Lease and nothing else. */
  readonly ref: CollectionRef;
  readonly log: Log;
}

/** Renewals in a row, which take 10 to 12 s with the usual retry period. */
const minMissed = 6;

/** Each exchange doubles the limit, up to 2 minutes, because a slow hub gains nothing from exchanges. */
const maxMissed = 60;

/** An expired version, a server that cannot list by a watch, or one that is busy or has just started: the next request may be answered, or hang. */
const retriedStatuses: ReadonlySet<number> = new Set([400, 410, 422, 429]);

/**
 * Checks that a connection shows the changes of the hub. The renewals of the Lease go over another connection, and this one watches them. An API server
 * with stuck storage answers PINGs and sends bookmarks, but no events, while other servers of the hub work. A connection that shows no renewal is
 * exchanged. The check sends no request except the watch. Ends with the signal.
 */
export class LeaseEcho {
  readonly #options: LeaseEchoOptions;
  #missed = 0;
  #limit = minMissed;
  /** Renewals since the last exchange, or since a renewal was late enough for the lowest limit. */
  #steady = 0;
  /** The server refuses the watch, which proves that the connection works. */
  #isRefused = false;

  constructor(options: LeaseEchoOptions, signal: AbortSignal) {
    const { clock } = options;
    const { client } = options.connection;
    this.#options = options;
    void new Reflector(
      { client, clock, ref: options.ref, metadataOnly: true },
      {
        onChange: () => this.#noteEvent(),
        onDelete: () => this.#noteEvent(),
        onError: (error) => this.#noteFailure(error),
        onBug: logWatchBug(options.log, "Lease"),
      },
      signal,
    );
  }

  /** Has to be called after each successful renewal. Without renewals, no server of the hub works, and an exchange would not help. */
  noteRenewal(): void {
    this.#steady += 1;
    if (this.#isRefused) return;
    this.#missed += 1;
    if (this.#missed < this.#limit) return;
    const { connection, log } = this.#options;
    const message = "A connection to the hub shows no renewal of the Lease and is exchanged";
    log.warn({ renewals: this.#missed }, message);
    this.#missed = 0;
    this.#steady = 0;
    this.#limit = Math.min(2 * this.#limit, maxMissed);
    connection.exchange();
  }

  #noteEvent(): void {
    if (this.#missed >= minMissed) this.#steady = 0;
    if (this.#steady >= maxMissed) this.#limit = minMissed;
    this.#missed = 0;
    this.#isRefused = false;
  }

  /** The last failure decides: a server that refused a watch may hang later. */
  #noteFailure(err: unknown): void {
    const { log } = this.#options;
    const isRefused =
      err instanceof ApiError && err.status < 500 && !retriedStatuses.has(err.status);
    const message = "The Lease cannot be watched: a server of the hub that hangs is not noticed";
    if (isRefused && !this.#isRefused) log.warn({ err }, message);
    else log.debug({ err }, "Cannot watch the Lease");
    this.#isRefused = isRefused;
    if (isRefused) this.#missed = 0;
  }
}
