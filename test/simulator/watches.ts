import { type Clock, every } from "../../access/time/clock.ts";
import { bookmarkOf, expired, shown, UnknownPath } from "./answers.ts";
import type { StoredEvent } from "./object-store.ts";
import type { SpokeRequest } from "./spoke-request.ts";
import { isWatched, type VirtualSpoke } from "./virtual-spoke.ts";

/** As often as kube-apiserver at most. */
const bookmarkMs = 60_000;
const longestMs = 3_600_000;

/** Where the events of a watch go. */
export interface EventStream {
  readonly destroyed: boolean;
  /** The watch is accepted. */
  begin(): void;
  write(text: string): void;
  end(): void;
  onClose(listener: () => void): void;
}

interface Watch {
  readonly stream: EventStream;
  readonly request: SpokeRequest;
  readonly timer: Disposable;
  /** The version that the watch begins after: nothing is told up to it, also where it is still to come, as after a restore. */
  readonly after: number;
}

/** The open watches of a virtual spoke. */
export class Watches implements Disposable {
  readonly #spoke: VirtualSpoke;
  readonly #clock: Clock;
  readonly #isFrozen: () => boolean;
  readonly #open = new Set<Watch>();
  readonly #listening: Disposable;
  readonly #bookmarks: Disposable;

  constructor(spoke: VirtualSpoke, clock: Clock, isFrozen: () => boolean) {
    this.#spoke = spoke;
    this.#clock = clock;
    this.#isFrozen = isFrozen;
    this.#listening = spoke.store.listen((event) => this.#tell(event));
    this.#bookmarks = every(clock, bookmarkMs, () => this.#bookmark());
  }

  get size(): number {
    return this.#open.size;
  }

  /** Answers a watch, with the objects first when it asks for them. Throws `StatusError` 410 for a version that is forgotten, 404 for a kind that is not served. */
  open(stream: EventStream, request: SpokeRequest): void {
    const { query, kind, shape } = request;
    if (kind === undefined) throw new UnknownPath();
    const { store } = this.#spoke;
    const after = Number(query.get("resourceVersion") ?? 0);
    const missed = after === 0 ? [] : store.since(after);
    if (missed === undefined) throw expired();
    stream.begin();
    if (query.get("sendInitialEvents") === "true") {
      const added = this.#spoke.select(request).map((object) => {
        return line({ type: "ADDED", object: shown(object, shape) });
      });
      stream.write(added.join("") + line(bookmarkOf(kind, store.version, true)));
    }
    const seconds = Number(query.get("timeoutSeconds") ?? 0);
    const ms = seconds > 0 ? Math.min(seconds * 1_000, longestMs) : longestMs;
    const timer = this.#clock.after(ms, () => stream.end(), "background");
    const watch = { stream, request, timer, after };
    for (const event of missed) this.#write(watch, event);
    this.#open.add(watch);
    stream.onClose(() => {
      timer[Symbol.dispose]();
      this.#open.delete(watch);
    });
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    this.#bookmarks[Symbol.dispose]();
    for (const { timer } of this.#open) timer[Symbol.dispose]();
  }

  #tell(event: StoredEvent): void {
    if (this.#isFrozen()) return;
    for (const watch of this.#open) this.#write(watch, event);
  }

  #write({ stream, request, after }: Watch, event: StoredEvent): void {
    if (event.version <= after) return;
    const told = eventFor(request, event);
    if (told === undefined || stream.destroyed) return;
    const { type, object } = told;
    stream.write(line({ type, object: shown(object, request.shape) }));
  }

  #bookmark(): void {
    if (this.#isFrozen()) return;
    for (const { stream, request, after } of this.#open) {
      if (request.kind === undefined || stream.destroyed) continue;
      if (this.#spoke.store.version < after) continue;
      stream.write(line(bookmarkOf(request.kind, this.#spoke.store.version, false)));
    }
  }
}

/** What a watch is told. An object that loses the label of the watch is deleted for it, as it was before. */
function eventFor(
  request: SpokeRequest,
  { type, object, before }: StoredEvent,
): Pick<StoredEvent, "type" | "object"> | undefined {
  const isShown = isWatched(object, request);
  if (before === undefined) return isShown ? { type, object } : undefined;
  const wasShown = isWatched(before, request);
  if (isShown) return { type: wasShown ? "MODIFIED" : "ADDED", object };
  if (!wasShown) return undefined;
  const { resourceVersion } = object.metadata;
  const metadata = { ...before.metadata, resourceVersion };
  return { type: "DELETED", object: { ...before, metadata } };
}

function line(event: object): string {
  return `${JSON.stringify(event)}\n`;
}
