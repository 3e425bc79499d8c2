import { plainText } from "../../../../api/foreign-text.ts";
import type { FleetStatus } from "../../fleet/status.ts";
import type { PageState } from "../fleet-state.ts";
import { lockedText, secretOfTab } from "./secret.ts";

/** Reads a document of the API, or of the file that the page was written as. Rejects with what the server said. */
export async function readDocument<Document>(
  path: string,
  signal?: AbortSignal,
): Promise<Document> {
  if (written !== undefined) return heldDocument(path, written.documents);
  const response = await ask(path, signal);
  const text = await response.text();
  const read: Document & { error?: string } = JSON.parse(text, readable);
  if (!response.ok) throw new Error(errorOf(read) ?? `The answer was ${response.status}`);
  return read;
}

/** The tab has not the secret of the command that runs now. */
class LockedError extends Error {}

async function ask(path: string, signal?: AbortSignal): Promise<Response> {
  const secret = secretOfTab();
  if (secret === null) throw new LockedError(lockedText);
  const headers = { authorization: `Bearer ${secret}` };
  const limit = signal === undefined ? {} : { signal };
  const response = await fetch(`/api/v1/${path}`, { headers, ...limit });
  if (response.status === 401) throw new LockedError(lockedText);
  return response;
}

function heldDocument<Document>(
  path: string,
  documents: Readonly<Record<string, Document>>,
): Document {
  const found = holds(path) ? documents[path] : undefined;
  if (found !== undefined) return found;
  throw new Error("This file does not hold it: kubectl knfleet ui shows it");
}

/** Whether a document can be read: a file does not hold all. */
export function holds(path: string): boolean {
  return written === undefined || Object.hasOwn(written.documents, path);
}

/** Why something could not be read, as a sentence. */
export function whyNot(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Texts of clusters without characters that turn the direction of writing. */
function readable(_key: string, value: unknown): unknown {
  return typeof value === "string" && !/^[\w.:/ -]*$/.test(value) ? plainText(value) : value;
}

function errorOf(document: { readonly error?: string; readonly errors?: unknown }) {
  if (typeof document.error === "string") return document.error;
  const [first]: unknown[] = Array.isArray(document.errors) ? document.errors : [];
  if (typeof first !== "object" || first === null || !("message" in first)) return undefined;
  return String(first.message);
}

interface Written {
  readonly status: FleetStatus;
  readonly state: PageState;
  /** By path. */
  readonly documents: Readonly<Record<string, never>>;
}

/** The fleet inside a page that was written as one file; undefined on a page with a server. */
export const written: Written | undefined = writtenPage();

function writtenPage(): Written | undefined {
  const element = document.getElementById("fleet");
  return element === null ? undefined : JSON.parse(element.textContent, readable);
}

interface Listener {
  readonly onStatus: (status: FleetStatus) => void;
  readonly onState: (state: PageState) => void;
  /** The command has ended, or the fleet cannot be read. */
  readonly onLost: (why: string) => void;
}

const shortestPauseMs = 1_000;
const nextTryMs = 3_000;

/**
 * Follows the fleet while the page is seen. Reads it when its revision has changed, and never twice at once. Each stream holds a connection, and browsers open six to a
 * server: with six windows that all follow, nothing else could be read.
 */
export function followFleet(listener: Listener): void {
  const receive = receiver(listener);
  let reading = new AbortController();
  const follow = (): void => {
    reading.abort();
    if (document.visibilityState === "hidden") return;
    reading = new AbortController();
    void keepReading(listener, receive, reading.signal);
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

/** Reads the stream, again and again, until the signal aborts. */
async function keepReading(
  listener: Listener,
  receive: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const error: unknown = await readStream(receive, signal).catch((why: unknown) => why);
  if (signal.aborted) return;
  const isLocked = error instanceof LockedError;
  listener.onLost(
    isLocked
      ? lockedText
      : "The command does not answer. When it has ended, start kubectl knfleet ui again",
  );
  if (!isLocked) setTimeout(() => void keepReading(listener, receive, signal), nextTryMs);
}

/** Hands on the messages of the stream, until it ends. An EventSource can send no header. */
async function readStream(receive: (message: string) => void, signal: AbortSignal): Promise<void> {
  const { body } = await ask("stream", signal);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one part after the other
      const { done, value = "" } = (await reader?.read()) ?? { done: true };
      if (done) return;
      const messages = (rest + value).split("\n\n");
      rest = messages.pop() ?? "";
      for (const message of messages) {
        if (message.startsWith("data: ")) receive(message.slice("data: ".length));
      }
    }
  } finally {
    // A stream that nobody reads on holds its connection. One that broke rejects with what was thrown already.
    await reader?.cancel().catch(() => undefined);
  }
}

function receiver({ onStatus, onState, onLost }: Listener): (message: string) => void {
  let wanted = 0;
  let shown = -1;
  let isReading = false;
  const read = async (): Promise<void> => {
    if (isReading || wanted === shown) return;
    isReading = true;
    const asked = wanted;
    try {
      onStatus(await readDocument<FleetStatus>("status"));
      shown = asked;
    } catch (error) {
      onLost(whyNot(error));
      // Only a page that is loaded again gets another secret.
      if (error instanceof LockedError) return;
    }
    setTimeout(() => {
      isReading = false;
      void read();
    }, shortestPauseMs);
  };
  return (message) => {
    const state: PageState = JSON.parse(message, readable);
    onState(state);
    wanted = state.revision;
    void read();
  };
}
