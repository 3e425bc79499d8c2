import { Follower } from "../time/deadline.ts";
import type { Requester } from "./request.ts";
import { assertMayWrite, type MayWrite } from "./write-permit.ts";

/** The permit of a part of the work that shares its connection with other parts. */
export interface WritePermit {
  readonly mayWrite: MayWrite;
  /** Aborted when the part of the work ends. Its requests that would change something end, too. */
  readonly signal: AbortSignal;
}

/** Sends requests that would change something only with a permit. */
export function withPermit(inner: Requester, permit: WritePermit): Requester {
  return {
    server: inner.server,
    stream: inner.stream.bind(inner),
    send: async (request, signal) => {
      if (request.method === "GET") return inner.send(request, signal);
      permit.signal.throwIfAborted();
      assertMayWrite(request.method, permit.mayWrite);
      using both = new Follower(signal, permit.signal);
      return await inner.send(request, both.signal);
    },
  };
}
