import { isRecord } from "../../api/fields.ts";
import { type AnswerHold, answerLimits, crowdedError, excessError } from "../answer-limits.ts";
import type { Requester, TransportStream } from "../http/request.ts";
import { beginningOf } from "../http/streamed-answer.ts";
import { JsonShape, parseJson } from "../json.ts";
import {
  apiErrorOf,
  emptyError,
  statusError,
  storedObject,
  unlessStandIn,
  versionText,
} from "./api-answer.ts";
import { ApiError, type ConnectionError } from "./api-error.ts";
import type { CollectionRef, WatchEvent, WatchOptions } from "./kube-client.ts";
import { collectionPath } from "./kube-path.ts";

export interface WatchRequest extends WatchOptions {
  readonly ref: CollectionRef;
}

const headersTimeoutMs = 30_000;
// An idle watch gets a bookmark every 60 to 120 s. Spec: engine-facts.md 2.
const silenceMs = 180_000;
// So many bytes, and so many parts of a stream, cost as much as an event.
const bytesOfWork = 4_096;
const partWork = 1 / 10;
const initialEventsEnd = "k8s.io/initial-events-end";

/** The events of one watch request. Ends when the server ends the stream; throws as `KubeClient.watch` documents. */
export function watchStream(
  requester: Requester,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncIterable<WatchEvent> {
  return new WatchEvents(() => openWatch(requester, request, signal), {
    ref: request.ref,
    server: requester.server,
  });
}

type Answer = TransportStream & Disposable;

async function openWatch(
  requester: Requester,
  { ref, metadataOnly, resourceVersion, timeoutSeconds }: WatchRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const path = collectionPath(ref, {
    watch: true,
    allowWatchBookmarks: true,
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    ...(resourceVersion === undefined
      ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
      : { resourceVersion }),
  });
  const accept =
    metadataOnly === true
      ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
      : "application/json";
  const answer = await requester.stream(
    { method: "GET", path, verb: "watch", headers: { accept }, timeoutMs: headersTimeoutMs },
    silenceMs,
    signal,
  );
  if (answer.status === 200) return answer;
  using _ended = answer;
  const text = await beginningOf(answer.body);
  const error = apiErrorOf({ ...answer, text }, descriptionOf(ref));
  throw unlessStandIn(error, { server: requester.server, resource: ref.resource });
}

function descriptionOf(ref: CollectionRef): string {
  return `GET ${collectionPath(ref, {}).split("?", 1)[0] ?? ""}`;
}

interface Watched {
  readonly ref: CollectionRef;
  readonly server: string;
}

/** Not a generator, which would keep its last event and chunk in memory while it waits. About 25 watches wait for each spoke. */
class WatchEvents implements AsyncIterableIterator<WatchEvent, undefined> {
  readonly #watched: Watched;
  readonly #shape = new JsonShape(answerLimits.object);
  #open: (() => Promise<Answer>) | undefined;
  #answer: Answer | undefined;
  #lines: string[] = [];
  /** The parts of an unfinished line. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** The budget of an unfinished line. */
  #hold: AnswerHold | undefined;
  #error: ConnectionError | undefined;
  /** What was read since the last rest, in events. */
  #work = 0;

  constructor(open: () => Promise<Answer>, watched: Watched) {
    this.#open = open;
    this.#watched = watched;
  }

  async next(): Promise<IteratorResult<WatchEvent, undefined>> {
    try {
      await this.#begin();
      while (this.#answer !== undefined) {
        if (this.#error !== undefined) throw this.#error;
        const line = this.#lines.shift();
        if (line === undefined) await this.#read(this.#answer);
        else if (line !== "") return { done: false, value: this.#eventOf(line, this.#answer) };
      }
    } catch (error) {
      await this.return();
      throw error;
    }
    return { done: true, value: undefined };
  }

  /** Closes the stream, also when the consumer stops early. */
  return(): Promise<IteratorResult<WatchEvent, undefined>> {
    this.#open = undefined;
    this.#lines = [];
    this.#clearPending();
    this.#answer?.[Symbol.dispose]();
    this.#answer = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #begin(): Promise<void> {
    if (this.#open === undefined) return;
    const answering = this.#open();
    this.#open = undefined;
    this.#answer = await answering;
  }

  #eventOf(line: string, { onEvent }: Answer): WatchEvent {
    const event = eventOf(line, this.#watched.ref);
    // Bookmarks are not counted as signs of life: a server whose storage is stuck still sends them.
    if (event.type !== "BOOKMARK") onEvent?.();
    return event;
  }

  async #read({ body, rest }: Answer): Promise<void> {
    const work = this.#work;
    this.#work = 0;
    if (work > 0) await rest?.(work);
    this.#take(await body.next());
  }

  #take({ done, value: chunk }: IteratorResult<Buffer, undefined>): void {
    if (done === true) {
      void this.return();
      return;
    }
    this.#work += partWork + chunk.length / bytesOfWork;
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#lines.push(this.#lineTo(chunk.subarray(start, end)));
      this.#work += 1;
      start = end + 1;
    }
    if (start === chunk.length) return;
    const rest = chunk.subarray(start);
    this.#check(rest);
    this.#pending.push(rest);
    const { server } = this.#watched;
    this.#hold ??= this.#answer?.hold?.(() => {
      this.#error = crowdedError(server);
      this.#pending = [];
      // Ends the stream even if the server sends nothing more.
      void this.#answer?.body.return();
    });
    this.#hold?.add(rest.length);
  }

  /** Counts the next part of a line. Throws when the line exceeds the limits of a watch event. */
  #check(part: Buffer): void {
    const limits = answerLimits.object;
    this.#pendingBytes += part.length;
    const isLong = this.#pendingBytes > limits.bytes;
    const excess = isLong ? "bytes" : this.#shape.take(part);
    if (excess === undefined) return;
    const { server, ref } = this.#watched;
    throw excessError(
      `${server} answered ${descriptionOf(ref)} with a watch event`,
      excess,
      limits,
    );
  }

  #clearPending(): void {
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#shape.restart();
    this.#hold?.[Symbol.dispose]();
    this.#hold = undefined;
  }

  #lineTo(end: Buffer): string {
    this.#check(end);
    const line = Buffer.concat([...this.#pending, end]).toString("utf8");
    this.#clearPending();
    return line;
  }
}

function eventOf(line: string, ref: CollectionRef): WatchEvent {
  const event = parsedEvent(line);
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: storedObject(object, ref.resource) };
    case "BOOKMARK":
      return bookmarkOf(object);
    case "ERROR": {
      const status = isRecord(object) ? object : {};
      throw statusError(
        status,
        emptyError({ status: 500, retryAfter: undefined }, descriptionOf(ref)),
      );
    }
    default:
      throw unreadable(ref);
  }

  function parsedEvent(text: string): Readonly<Record<string, unknown>> {
    try {
      const value = parseJson(text);
      if (isRecord(value)) return value;
    } catch {
      // The line was cut off. The parser's error is dropped, because it quotes the line.
    }
    throw unreadable(ref);
  }
}

function bookmarkOf(object: unknown): WatchEvent {
  const metadata = isRecord(object) && isRecord(object["metadata"]) ? object["metadata"] : {};
  const annotations = isRecord(metadata["annotations"]) ? metadata["annotations"] : {};
  return {
    type: "BOOKMARK",
    resourceVersion: versionText(metadata["resourceVersion"]),
    initialEventsEnd: annotations[initialEventsEnd] === "true",
  };
}

function unreadable(ref: CollectionRef): ApiError {
  return new ApiError({
    ...emptyError({ status: 200, retryAfter: undefined }, descriptionOf(ref)),
    message: "The server sent a watch event that cannot be read",
  });
}
