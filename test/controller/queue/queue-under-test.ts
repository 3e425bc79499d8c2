import type { Next } from "../../../controller/queue/delays.ts";
import { WorkQueue, type QueueOptions } from "../../../controller/queue/queue.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";

interface Started {
  readonly key: string;
  readonly signal: AbortSignal;
  end(next: Next): Promise<void>;
}

/** A queue whose work ends when the test says so. */
export function queueUnderTest(options: Partial<QueueOptions> = {}) {
  const clock = new FakeClock();
  const started: Started[] = [];
  const bugs: unknown[] = [];
  const queue = new WorkQueue({
    work: (key, signal) => {
      const { promise, resolve } = Promise.withResolvers<Next>();
      signal.addEventListener("abort", () => resolve({ kind: "done" }));
      started.push({
        key,
        signal,
        end: (next) => {
          resolve(next);
          return settled();
        },
      });
      return promise;
    },
    onBug: (_key, error) => bugs.push(error),
    concurrency: 8,
    laneConcurrency: 2,
    slowMs: 5_000,
    clock,
    random: () => 0,
    ...options,
  });
  queue.start();
  const keys = (): string[] => started.map(({ key }) => key);
  const last = (): Started => {
    const entry = started.at(-1);
    if (entry === undefined) throw new Error("Nothing has started");
    return entry;
  };
  return { clock, queue, started, keys, last, bugs };
}
