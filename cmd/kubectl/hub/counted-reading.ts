import type { Running } from "../output/progress.ts";

/** Reads one thing of many by its name. */
type CountedReading = <Found>(name: string, read: () => Promise<Found>) => Promise<Found>;

/** Tells `onProgress` whenever one of `total` things is begun or done, with those that are being read. */
export function countedReading(
  total: number,
  onProgress: (done: number, total: number, running: Running) => void = () => undefined,
): CountedReading {
  let done = 0;
  const running = new Map<string, number>();
  return async (name, read) => {
    running.set(name, performance.now());
    onProgress(done, total, running);
    try {
      return await read();
    } finally {
      done += 1;
      running.delete(name);
      onProgress(done, total, running);
    }
  };
}
