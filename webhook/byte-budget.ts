/** Memory that request bodies may take at the same time; who does not fit waits its turn. */
export interface ByteBudget {
  /** Resolves with the way to give the bytes back. Rejects with the signal's reason. */
  take(bytes: number, signal: AbortSignal): Promise<() => void>;
}

interface Waiting {
  readonly bytes: number;
  readonly go: () => void;
}

/** A budget that serves in the order of asking. A body larger than all of it is served alone. */
export function createByteBudget(total: number): ByteBudget {
  let free = total;
  const queue = new Set<Waiting>();
  const admit = () => {
    for (const waiting of queue) {
      if (waiting.bytes > free && free < total) return;
      queue.delete(waiting);
      free -= waiting.bytes;
      waiting.go();
    }
  };
  return {
    async take(bytes, signal) {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiting = { bytes, go: resolve };
      const leave = () => {
        queue.delete(waiting);
        reject(signal.reason);
        admit();
      };
      queue.add(waiting);
      signal.addEventListener("abort", leave, { once: true });
      admit();
      await promise;
      signal.removeEventListener("abort", leave);
      let isTaken = true;
      return () => {
        if (isTaken) free += bytes;
        isTaken = false;
        admit();
      };
    },
  };
}
