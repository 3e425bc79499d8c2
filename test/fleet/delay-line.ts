import type { Socket } from "node:net";

/** One direction of a connection: what goes in comes out after a while, in the same order. */
export interface DelayLine {
  /** While held, nothing comes out; time goes on, so that what is due leaves at once afterwards. */
  hold(held: boolean): void;
  stop(): void;
}

const queueLimitBytes = 16 * 1024 * 1024;

/**
 * Passes the bytes of `from` on to `to`. `dueAt` says when something that arrived now may leave, in milliseconds of
 * `performance.now()`. The end of the stream is delayed alike.
 */
export function delayLine(
  from: Socket,
  to: Socket,
  { dueAt, onBytes }: { readonly dueAt: () => number; readonly onBytes: (count: number) => void },
): DelayLine {
  const queue: { readonly due: number; readonly chunk: Buffer | "end" }[] = [];
  const state: { held: boolean; queued: number; timer: NodeJS.Timeout | undefined } = {
    held: false,
    queued: 0,
    timer: undefined,
  };
  const push = (chunk: Buffer | "end") => {
    // A shorter delay that is set meanwhile must not let later bytes overtake earlier ones.
    queue.push({ due: Math.max(dueAt(), queue.at(-1)?.due ?? 0), chunk });
    flush();
  };
  const balance = () => {
    if (state.queued + to.writableLength > queueLimitBytes) from.pause();
    else from.resume();
  };
  const flush = () => {
    clearTimeout(state.timer);
    if (state.held) return;
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      const wait = head.due - performance.now();
      if (wait > 0) {
        state.timer = setTimeout(flush, Math.ceil(wait));
        return;
      }
      queue.shift();
      if (head.chunk === "end") to.end();
      else deliver(head.chunk);
    }
  };
  const deliver = (chunk: Buffer) => {
    state.queued -= chunk.length;
    to.write(chunk);
    balance();
  };
  from.on("data", (chunk: Buffer) => {
    onBytes(chunk.length);
    state.queued += chunk.length;
    push(chunk);
    balance();
  });
  from.on("end", () => push("end"));
  to.on("drain", balance);
  return {
    hold(held) {
      state.held = held;
      flush();
    },
    stop: () => clearTimeout(state.timer),
  };
}
