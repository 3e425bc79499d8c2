import { plainText } from "../../../../api/foreign-text.ts";
import type { FleetStatus } from "../../commands/status/status.ts";
import type { PageState } from "../../commands/ui/fleet-state.ts";

/** Reads a document of the API. Rejects with what the server said. On a page that was written as one file, those that the file holds. */
export async function readDocument<Document>(
  path: string,
  signal?: AbortSignal,
): Promise<Document> {
  if (document.getElementById("fleet") !== null) throw new Error("This file does not hold it");
  const response = await fetch(`/api/v1/${path}`, signal === undefined ? {} : { signal });
  const text = await response.text();
  const read: Document & { error?: string } = JSON.parse(text, readable);
  if (!response.ok) throw new Error(errorOf(read) ?? `The answer was ${response.status}`);
  return read;
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

/** The fleet inside a page that was written as one file; undefined on a page with a server. */
export function writtenPage():
  | { readonly status: FleetStatus; readonly state: PageState }
  | undefined {
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

/** Follows the fleet. Reads it when its revision has changed, and never twice at once. */
export function followFleet({ onStatus, onState, onLost }: Listener): void {
  const source = new EventSource("/api/v1/stream");
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
      onLost(String(error));
    }
    setTimeout(() => {
      isReading = false;
      void read();
    }, shortestPauseMs);
  };
  source.addEventListener("message", ({ data }: MessageEvent<string>) => {
    const state: PageState = JSON.parse(data, readable);
    onState(state);
    wanted = state.revision;
    void read();
  });
  source.addEventListener("error", () => {
    onLost("The command does not answer. When it has ended, start kubectl knfleet ui again");
  });
}
