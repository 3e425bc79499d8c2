import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { Reflector } from "../../../../access/kube/reflector.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { eventResource, type EventItem } from "../../fleet/events.ts";
import { eventFactOf } from "../../hub/event-fact.ts";

const maxBackoffMs = 5_000;
const mostFailures = 5;
/** For more namespaces, one watch covers all namespaces: an API server allows about a hundred streams on one connection. */
const mostWatches = 50;
const everywhere = "";

interface Place {
  readonly client: KubeClient;
  /** `namespace/name` of the ClusterProfile; null for the hub. */
  readonly id: string | null;
}

interface Handlers {
  readonly onEvent: (event: EventItem) => void;
  /** Called for each failure. */
  readonly onError: (error: unknown) => void;
  readonly onSynced?: () => void;
}

/** Watches the Events in some namespaces of one cluster, until it is disposed or the signal aborts. */
export class NamespaceWatches implements Disposable {
  readonly #place: Place;
  readonly #handlers: Handlers;
  readonly #signal: AbortSignal;
  readonly #reflectors = new Map<string, Reflector>();
  readonly #lost = Promise.withResolvers<void>();
  #failures = 0;

  constructor(place: Place, handlers: Handlers, signal: AbortSignal) {
    this.#place = place;
    this.#handlers = handlers;
    this.#signal = signal;
    if (signal.aborted) this.#lost.resolve();
    else signal.addEventListener("abort", () => this.#lost.resolve(), { once: true });
  }

  /** Resolves when the signal aborts, and when the cluster failed five times in a row and needs a new connection. */
  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  /** Watches these namespaces and no others. */
  follow(namespaces: readonly string[]): void {
    const wanted = new Set(namespaces.length > mostWatches ? [everywhere] : namespaces);
    for (const [namespace, reflector] of this.#reflectors) {
      if (wanted.has(namespace)) continue;
      reflector[Symbol.dispose]();
      this.#reflectors.delete(namespace);
    }
    for (const namespace of wanted) {
      if (!this.#reflectors.has(namespace)) this.#reflectors.set(namespace, this.#watch(namespace));
    }
  }

  /** Reports all present Events once more. */
  tellAgain(): void {
    for (const reflector of this.#reflectors.values()) {
      for (const object of reflector.values()) this.#tell(object);
    }
  }

  [Symbol.dispose](): void {
    this.follow([]);
  }

  #watch(namespace: string): Reflector {
    const { client } = this.#place;
    const place = namespace === everywhere ? {} : { namespace };
    return new Reflector(
      { client, clock: systemClock, ref: { resource: eventResource, ...place }, maxBackoffMs },
      {
        onChange: (object) => {
          this.#failures = 0;
          this.#tell(object);
        },
        onDelete: () => undefined,
        onError: (error) => this.#fail(error),
        onBug: (error) => this.#fail(error),
        onSynced: () => {
          this.#failures = 0;
          this.#handlers.onSynced?.();
        },
      },
      this.#signal,
    );
  }

  #tell(object: Parameters<typeof eventFactOf>[0]): void {
    this.#handlers.onEvent({ ...eventFactOf(object), cluster: this.#place.id });
  }

  #fail(error: unknown): void {
    this.#handlers.onError(error);
    // A missing right in one namespace is no fault of the connection.
    if (error instanceof ApiError && error.status === 403) return;
    this.#failures += 1;
    if (this.#failures >= mostFailures) this.#lost.resolve();
  }
}
