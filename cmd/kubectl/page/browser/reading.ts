import { useEffect, useState } from "preact/hooks";

import { readDocument } from "./documents.ts";
import { html, type Markup } from "./html.ts";

/** A document that is read, or why it could not be. */
export interface Reading<Document> {
  readonly document?: Document;
  readonly error?: string;
}

/** Reads a document, and again when the stamp changes; the last one is shown until then. */
export function useDocument<Document>(path: string, stamp: string): Reading<Document> {
  const [reading, setReading] = useState<Reading<Document>>({});
  useEffect(() => {
    const end = new AbortController();
    readDocument<Document>(path, end.signal).then(
      (document) => setReading({ document }),
      (error: unknown) => {
        if (!end.signal.aborted) setReading((last) => ({ ...last, error: String(error) }));
      },
    );
    return () => end.abort();
  }, [path, stamp]);
  return reading;
}

/** Says that something is being read, or why it cannot be. */
export function Waiting({ reading }: { readonly reading: Reading<unknown> }): Markup {
  if (reading.error !== undefined) return html`<p class="bad-text">${reading.error}</p>`;
  return reading.document === undefined ? html`<p class="dim" role="status">Reading…</p>` : null;
}
