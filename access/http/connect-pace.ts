import type { buildConnector } from "undici";

const pauseMs = 250;

/**
 * The same connector, which begins nothing within 250 ms after a connection that could not be made. After a GOAWAY undici gives up what waits for a new
 * connection only when nothing runs on the old one any more, and tries again at once, thousands of times a second, for as long as an API server that ends
 * still serves its watches: a minute.
 */
export function pacedConnector(connect: buildConnector.connector): buildConnector.connector {
  let failedAt = -Infinity;
  return (target, callback) => {
    const done: buildConnector.Callback = (...result) => {
      if (result[0] !== null) failedAt = performance.now();
      return callback(...result);
    };
    const waitMs = failedAt + pauseMs - performance.now();
    if (waitMs > 0) setTimeout(() => connect(target, done), waitMs);
    else connect(target, done);
  };
}
