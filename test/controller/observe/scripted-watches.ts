import { ApiError } from "../../../access/kube/api-error.ts";
import type {
  CollectionRef,
  KubeClient,
  WatchEvent,
  WatchOptions,
} from "../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import type { ResourceType } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import type { ObserveOptions } from "../../../controller/observe/observation.ts";
import { observe } from "../../../controller/observe/observe.ts";
import { SharedWatches } from "../../../controller/target/shared-watches.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";

export const componentUid = "uid-of-component";

interface OpenWatch {
  readonly ref: CollectionRef;
  readonly options: WatchOptions;
  readonly queue: (WatchEvent | Error | "end")[];
  wake: () => void;
  isOpen: boolean;
}

/**
 * Watches whose events a test writes itself, in orders that a real server shows only by bad luck. Lists are not served:
 * every watch begins with a WatchList.
 */
export class ScriptedWatches implements Pick<KubeClient, "watch" | "list" | "server"> {
  readonly server = "https://spoke.example";
  /** Of those who watch: it goes on while somebody waits for something. */
  readonly clock = new FakeClock();
  readonly #watches: OpenWatch[] = [];
  /** Kinds that are not served. */
  readonly unserved = new Set<string>();

  /** Watches of a kind that were opened so far, with what was asked for. */
  opened(kind: string): readonly { readonly ref: CollectionRef; readonly options: WatchOptions }[] {
    return this.#watches.filter(({ ref }) => ref.resource.kind === kind);
  }

  /** Watches of all kinds that are open now. */
  openCount(): number {
    return this.#watches.filter(({ isOpen }) => isOpen).length;
  }

  /** Resolves when a watch of a kind is open, such as the next one after a failure. */
  async opening(kind: string): Promise<void> {
    await this.waitFor(() => {
      if (!this.isOpen(kind)) throw new Error(`There is no open watch of ${kind}`);
    });
  }

  /** Resolves when the check no longer throws. Rejects with its error after a minute of virtual time. */
  async waitFor(check: () => unknown): Promise<void> {
    await this.clock.advance(0);
    for (let left = 600; ; left -= 1) {
      try {
        check();
        return;
      } catch (error) {
        if (left === 0) throw error;
      }
      // oxlint-disable-next-line no-await-in-loop -- a little later each time
      await this.clock.advance(100);
    }
  }

  isOpen(kind: string): boolean {
    return this.#watches.some(({ ref, isOpen }) => isOpen && ref.resource.kind === kind);
  }

  /** The whole initial list of a kind. */
  list(): Promise<never> {
    return Promise.reject(new Error("The scripted server has no lists"));
  }

  listed(kind: string, objects: readonly KubeObject[], resourceVersion = "100"): void {
    for (const object of objects) this.send(kind, { type: "ADDED", object });
    this.send(kind, { type: "BOOKMARK", resourceVersion, initialEventsEnd: true });
  }

  /** An event on the open watch of a kind, the error that ends it, or its end before its time. */
  send(kind: string, event: WatchEvent | Error | "end"): void {
    const watch = this.#watches.findLast(({ ref, isOpen }) => isOpen && ref.resource.kind === kind);
    if (watch === undefined) throw new Error(`There is no open watch of ${kind}`);
    watch.queue.push(selectedBy(watch.ref, event));
    watch.wake();
  }

  async *watch(
    ref: CollectionRef,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent> {
    const watch: OpenWatch = {
      ref: { ...ref },
      options,
      queue: [],
      wake: () => undefined,
      isOpen: true,
    };
    this.#watches.push(watch);
    try {
      if (this.unserved.has(ref.resource.kind)) throw apiError(404, "404 page not found");
      for (;;) {
        const event = watch.queue.shift();
        if (event instanceof Error) throw event;
        if (event === "end") return;
        if (event === undefined) await wokenUp(watch, signal);
        else yield event;
      }
    } finally {
      watch.isOpen = false;
    }
  }
}

/** What a watch by the component's label selects has that label. */
function selectedBy({ labelSelector = "" }: CollectionRef, event: WatchEvent | Error | "end") {
  const isSelected = labelSelector.startsWith(componentUidLabel);
  if (!isSelected || event instanceof Error || event === "end" || event.type === "BOOKMARK")
    return event;
  const { metadata } = event.object;
  const labels = { [componentUidLabel]: componentUid, ...metadata.labels };
  return { ...event, object: { ...event.object, metadata: { ...metadata, labels } } };
}

function wokenUp(watch: OpenWatch, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    watch.wake = resolve;
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** A refusal of the server. */
export function apiError(status: number, message: string, retryAfterMs?: number): ApiError {
  return new ApiError({
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    status,
    message,
    reason: "",
    causes: [],
    isStatus: false,
    request: "GET /scripted",
  });
}

/** What is observed over scripted watches. */
export interface ScriptedScene {
  readonly watches: ScriptedWatches;
  readonly shared: SharedWatches;
  readonly observation: Observation;
  /** What was told of it. */
  readonly changes: ObservedChange[];
}

/** An observation of one kind that has listed these objects. */
export async function beginWith(
  resource: ResourceType,
  objects: readonly KubeObject[],
): Promise<ScriptedScene> {
  const watches = new ScriptedWatches();
  const changes: ObservedChange[] = [];
  const shared = new SharedWatches(watches.clock, watches, "knfleet-hub");
  const observation = observeScripted(watches, (change) => changes.push(change), {
    watches: shared,
  });
  observation.watchKinds([resource]);
  watches.listed(resource.kind, objects);
  await observation.waitForSync(AbortSignal.timeout(10_000));
  return { watches, shared, observation, changes };
}

/** An observation of them, for the hub `knfleet-hub`. */
export function observeScripted(
  client: ScriptedWatches,
  onChange: (change: ObservedChange) => unknown = () => undefined,
  options: Partial<Pick<ObserveOptions, "componentUid" | "watches" | "isUnwanted" | "log">> = {},
): Observation {
  return observe({
    clock: client.clock,
    client,
    componentUid,
    watches: new SharedWatches(client.clock, client, "knfleet-hub"),
    onChange: (change) => void onChange(change),
    log: silentLog,
    ...options,
  });
}
