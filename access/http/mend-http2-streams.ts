import { channel } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import { constants } from "node:http2";

/**
 * Makes up for two faults of undici 8.12 in every HTTP/2 client stream of the process. Idempotent.
 *
 * It takes its own listener for errors off when an answer is complete, but Node ends the stream a moment later. When the
 * connection breaks in between, the stream emits an error that nobody hears, which ends the process. Each stream gets a listener
 * that does nothing; what matters is heard by undici's as before.
 *
 * It gives a request up by `close()` and `destroy()`. Without a code Node resets the stream only when the whole body is out, and then
 * the stream exists no more: the connection goes on asking it for its body, gets nothing, and sends empty frames forever, in one turn of
 * the event loop. With a code the stream is reset at once.
 */
export function mendHttp2Streams(): void {
  const created = channel("http2.client.stream.created");
  // Exactly one subscription, however often this is called.
  created.unsubscribe(mend);
  created.subscribe(mend);
}

interface Closable {
  close: (code?: number, callback?: () => void) => void;
}

function mend(message: unknown): void {
  if (typeof message !== "object" || message === null || !("stream" in message)) return;
  const { stream } = message;
  if (!(stream instanceof EventEmitter)) return;
  stream.on("error", nothing);
  if (isClosable(stream)) closeWithCode(stream);
}

function isClosable(stream: object): stream is Closable {
  return "close" in stream && typeof stream.close === "function";
}

function closeWithCode(stream: Closable): void {
  const close = stream.close.bind(stream);
  stream.close = (code = constants.NGHTTP2_CANCEL, callback) => close(code, callback);
}

function nothing(): void {
  // See above.
}
