import { ApiError } from "../../access/kube/api-error.ts";
import type { CollectionRef, KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import type { Log } from "../log.ts";

/** A connection to the hub over which a leader works. */
export interface WorkConnection {
  readonly client: Pick<KubeClient, "list" | "watch">;
  /** What is sent from now on goes over a new connection, and what runs ends with an error. */
  exchange(): void;
}

export interface LeaseEchoOptions {
  readonly connection: WorkConnection;
  /** The Lease and nothing else. */
  readonly ref: CollectionRef;
  readonly log: Log;
}

/** Renewals in a row: 10 to 12 s, as long as a spoke may say nothing before it is asked. */
const fewestMissed = 6;

/** A hub that is only slow is not left again and again: each exchange doubles the patience, up to 2 minutes. */
const mostMissed = 60;

/** A version that is too old, and servers that cannot list by a watch: the next question is another one. */
const isAskedOtherwise: ReadonlySet<number> = new Set([400, 410, 422]);

/**
 * Whether a connection shows what happens on the hub: the renewals of the Lease, which go over another one, are watched on it. A server whose storage is
 * stuck answers PINGs, sends bookmarks and says nothing else, while others of the same hub go on; a connection that shows no renewal is
 * exchanged. Costs no request. Ends with the signal.
 */
export class LeaseEcho {
  readonly #options: LeaseEchoOptions;
  #missed = 0;
  #patience = fewestMissed;
  /** Renewals since the last exchange, or since they were as long in coming as they may be at first. */
  #steady = 0;
  /** The server answers, but not what we ask it for: that says nothing against the connection. */
  #isRefused = false;

  constructor(options: LeaseEchoOptions, signal: AbortSignal) {
    const { client } = options.connection;
    this.#options = options;
    void new Reflector(
      { client, ref: options.ref, metadataOnly: true },
      {
        onChange: () => this.#hear(),
        onDelete: () => this.#hear(),
        onError: (error) => this.#fail(error),
      },
      signal,
    );
  }

  /** Has to be told of each renewal that succeeded. When none succeeds, there is no server to change to. */
  renewed(): void {
    this.#steady += 1;
    if (this.#isRefused) return;
    this.#missed += 1;
    if (this.#missed < this.#patience) return;
    const { connection, log } = this.#options;
    const words = "A connection to the hub shows no renewal of the Lease and is exchanged";
    log.warn({ renewals: this.#missed }, words);
    this.#missed = 0;
    this.#steady = 0;
    this.#patience = Math.min(2 * this.#patience, mostMissed);
    connection.exchange();
  }

  #hear(): void {
    if (this.#missed >= fewestMissed) this.#steady = 0;
    if (this.#steady >= mostMissed) this.#patience = fewestMissed;
    this.#missed = 0;
    this.#isRefused = false;
  }

  /** The last failure counts: a server that refused, for want of time or of a right, may hang later. */
  #fail(err: unknown): void {
    const { log } = this.#options;
    const isRefused =
      err instanceof ApiError && err.status < 500 && !isAskedOtherwise.has(err.status);
    const words = "The Lease cannot be watched: a server of the hub that hangs is not noticed";
    if (isRefused && !this.#isRefused) log.warn({ err }, words);
    else log.debug({ err }, "Cannot watch the Lease");
    this.#isRefused = isRefused;
    if (isRefused) this.#missed = 0;
  }
}
