import type { TransportAnswer } from "../http/transport.ts";

// An API server lists its checks, one a line. All that is asked of it goes through its storage.
const list = /^\[[+-]\]\S/;
const storageFailed = /^\[-\](?:ping|etcd)\b/m;

/**
 * True when an answer to `GET /readyz` says that nothing can be asked of the server. An API server that is about to stop, or whose keys for Secrets cannot
 * be had, says 500 as well, and answers most of what it is asked; whoever does not know the question is there.
 */
export function cannotWork({ status, text }: Pick<TransportAnswer, "status" | "text">): boolean {
  if (status < 500) return false;
  return !list.test(text) || storageFailed.test(text);
}
