import { channel } from "node:diagnostics_channel";
import { constants } from "node:http2";

/**
 * Exception to the rule that nothing of the runtime is patched: it changes every HTTP/2 client stream of the process, because undici 8.12.4 and 8.13.1 on
 * Node 24.21 need it. The test of this file says when they do not any more; then this file goes. Idempotent.
 *
 * Since nodejs/undici#5559 undici gives a request up by `close()` without a code and `destroy()` in the same turn. Without a code Node resets the stream
 * only after the whole body is out, and then the stream exists no more: the connection asks for the body forever, and sends empty frames in one turn
 * of the event loop. With a code the stream is reset at once.
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
  if (!isClosable(stream)) return;
  const close = stream.close.bind(stream);
  stream.close = (code = constants.NGHTTP2_CANCEL, callback) => close(code, callback);
}

function isClosable(stream: unknown): stream is Closable {
  return (
    typeof stream === "object" &&
    stream !== null &&
    "close" in stream &&
    typeof stream.close === "function"
  );
}
