import type { Clock } from "./clock.ts";

/** The clock of this machine. Built into the programs in cmd/; everything below takes a `Clock`. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  random: () => Math.random(),
  after: (ms, callback, kind) => {
    const timer = setTimeout(callback, ms);
    if (kind === "background") timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
