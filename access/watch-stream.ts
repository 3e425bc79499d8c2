import { isRecord } from "../api/fields.ts";
import { apiErrorOf, emptyError, statusError } from "./api-answer.ts";
import { ApiError, ConnectionError } from "./api-error.ts";
import { Follower } from "./follower.ts";
import { parseJson } from "./json.ts";
import { storedObject } from "./kube-answer.ts";
import type { CollectionRef, WatchEvent, WatchOptions } from "./kube-client.ts";
import { collectionPath } from "./kube-path.ts";
import type { Requester } from "./requester.ts";
import { unlessStandIn } from "./stand-in.ts";

export interface WatchRequest extends WatchOptions {
  readonly ref: CollectionRef;
}

const headersTimeoutMs = 30_000;
// Bookmarks of an idle watch come 60 to 120 s apart. Spec: engine-facts.md 2.
const silenceMs = 180_000;
const maxLineBytes = 32 * 1024 * 1024;
const initialEventsEnd = "k8s.io/initial-events-end";

/** One watch request as events. Ends when the server ends it; throws as `KubeClient.watch` says. */
export async function* watchStream(
  requester: Requester,
  { ref, metadataOnly, resourceVersion }: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const path = collectionPath(ref, {
    watch: true,
    allowWatchBookmarks: true,
    // Spread, so that many watches do not end at the same moment.
    timeoutSeconds: 300 + Math.floor(Math.random() * 300),
    ...(resourceVersion === undefined
      ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
      : { resourceVersion }),
  });
  const accept =
    metadataOnly === true
      ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
      : "application/json";
  using end = new Follower(signal);
  const request = { method: "GET", path, verb: "watch", headers: { accept } } as const;
  const description = `GET ${path.split("?", 1)[0] ?? path}`;
  using answer = await requester.stream(
    { ...request, timeoutMs: headersTimeoutMs },
    silenceMs,
    end.signal,
  );
  try {
    if (answer.status !== 200) {
      const text = await beginningOf(answer.body);
      const error = apiErrorOf({ ...answer, text }, description);
      throw unlessStandIn(error, { server: requester.server, resource: ref.resource });
    }
    for await (const line of linesOf(answer.body, requester.server)) {
      yield eventOf(line, ref, description);
    }
  } finally {
    // Also when the consumer stops in the middle: the stream must not stay open.
    end.abort(undefined);
  }
}

/** The first 64 KiB of an answer, for what it says of an error. */
export async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > 64 * 1024) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function* linesOf(body: AsyncIterable<Buffer>, server: string): AsyncGenerator<string> {
  let pending: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pending.push(chunk.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(pending).toString("utf8");
      pending = [];
      bytes = 0;
      if (line !== "") yield line;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > maxLineBytes) {
      throw new ConnectionError("other", `${server} sent a watch event of more than 32 MiB`);
    }
  }
}

function eventOf(line: string, ref: CollectionRef, request: string): WatchEvent {
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
      throw statusError(status, emptyError({ status: 500, retryAfter: undefined }, request));
    }
    default:
      throw unreadable(request);
  }

  function parsedEvent(text: string): Readonly<Record<string, unknown>> {
    try {
      const value = parseJson(text);
      if (isRecord(value)) return value;
    } catch {
      // A cut line. The parser's message would quote it.
    }
    throw unreadable(request);
  }
}

function bookmarkOf(object: unknown): WatchEvent {
  const metadata = isRecord(object) && isRecord(object["metadata"]) ? object["metadata"] : {};
  const annotations = isRecord(metadata["annotations"]) ? metadata["annotations"] : {};
  const version = metadata["resourceVersion"];
  return {
    type: "BOOKMARK",
    resourceVersion: typeof version === "string" ? version : "",
    initialEventsEnd: annotations[initialEventsEnd] === "true",
  };
}

function unreadable(request: string): ApiError {
  return new ApiError({
    ...emptyError({ status: 200, retryAfter: undefined }, request),
    message: "The server sent a watch event that cannot be read",
  });
}
