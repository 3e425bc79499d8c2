import { channel } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";

/**
 * Gives every HTTP/2 client stream of the process a listener for errors that does nothing. Idempotent.
 *
 * undici 8.12 takes its own listener off when an answer is complete, but Node ends the stream a moment later. When the
 * connection breaks in between, the stream emits an error that nobody hears, which ends the process. What matters is heard
 * by undici's listener as before.
 */
export function surviveStreamErrors(): void {
  const created = channel("http2.client.stream.created");
  // Exactly one subscription, however often this is called.
  created.unsubscribe(addListener);
  created.subscribe(addListener);
}

function addListener(message: unknown): void {
  if (typeof message !== "object" || message === null || !("stream" in message)) return;
  const { stream } = message;
  if (stream instanceof EventEmitter) stream.on("error", nothing);
}

function nothing(): void {
  // See above.
}
