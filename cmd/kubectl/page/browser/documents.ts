import { plainText } from "../../../../api/foreign-text.ts";
import type { FleetStatus } from "../../commands/status/status.ts";
import type { PageState } from "../../commands/ui/fleet-state.ts";

/** Reads a document of the API, or of the file that the page was written as. Rejects with what the server said. */
export async function readDocument<Document>(
  path: string,
  signal?: AbortSignal,
): Promise<Document> {
  if (written !== undefined) return heldDocument(path, written.documents);
  const response = await fetch(`/api/v1/${path}`, signal === undefined ? {} : { signal });
  const text = await response.text();
  const read: Document & { error?: string } = JSON.parse(text, readable);
  if (!response.ok) throw new Error(errorOf(read) ?? `The answer was ${response.status}`);
  return read;
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

/**
 * Follows the fleet while the page is seen. Reads it when its revision has changed, and never twice at once. Each stream holds a connection, and browsers open six to a
 * server: with six windows that all follow, nothing else could be read.
 */
export function followFleet(listener: Listener): void {
  const receive = receiver(listener);
  let source: EventSource | undefined;
  const follow = (): void => {
    source?.close();
    source = undefined;
    if (document.visibilityState === "hidden") return;
    source = new EventSource("/api/v1/stream");
    source.addEventListener("message", receive);
    source.addEventListener("error", () => {
      listener.onLost(
        "The command does not answer. When it has ended, start kubectl knfleet ui again",
      );
    });
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

function receiver({ onStatus, onState, onLost }: Listener): (event: MessageEvent<string>) => void {
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
    }
    setTimeout(() => {
      isReading = false;
      void read();
    }, shortestPauseMs);
  };
  return ({ data }) => {
    const state: PageState = JSON.parse(data, readable);
    onState(state);
    wanted = state.revision;
    void read();
  };
}
