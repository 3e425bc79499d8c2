import { useEffect, useState } from "preact/hooks";

import type { ClusterList } from "../clusters.ts";
import type { Traits } from "../fleet-view.ts";
import { readDocument, whyNot, written } from "./documents.ts";
import { html, type Markup } from "./html.ts";

/** A document that is read, or why it could not be. */
export interface Reading<Document> {
  readonly document?: Document;
  readonly error?: string;
}

/** Reads a document, and again when the stamp changes; the last one is shown until then. A stamp of null reads nothing. */
export function useDocument<Document>(path: string, stamp: string | null): Reading<Document> {
  const [reading, setReading] = useState<Reading<Document>>({});
  useEffect(() => {
    if (stamp === null) return undefined;
    const end = new AbortController();
    readDocument<Document>(path, end.signal).then(
      (document) => setReading({ document }),
      (error: unknown) => {
        if (!end.signal.aborted) setReading((last) => ({ ...last, error: whyNot(error) }));
      },
    );
    return () => end.abort();
  }, [path, stamp]);
  return reading;
}

/** Reads what the hub alone knows of it, for which no cluster is asked. A file has the whole document. */
export function useHubPart<Document>(path: string, stamp: string): Reading<Document> {
  return useDocument<Document>(`${path}&live=false`, written === undefined ? stamp : null);
}

/** A number that changes once a minute. */
export function minuteOf(now: Date): number {
  return Math.floor(now.getTime() / 60_000);
}

/** What the ClusterProfiles say, when it is needed; labels change seldom. */
export function useClusters(isNeeded: boolean, now: Date): Reading<ClusterList> {
  return useDocument<ClusterList>("clusters", isNeeded ? String(minuteOf(now)) : null);
}

/** The same by `namespace/name`. */
export function traitsOf(clusters: ClusterList | undefined): Traits {
  return new Map(clusters?.items.map((one) => [`${one.namespace}/${one.name}`, one]));
}

/** Says that something is being read, or why it cannot be. */
export function Waiting({ reading }: { readonly reading: Reading<unknown> }): Markup {
  if (reading.error !== undefined) return html`<p class="bad-text">${reading.error}</p>`;
  return reading.document === undefined ? html`<p class="dim" role="status">Reading…</p>` : null;
}
