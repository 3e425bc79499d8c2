/**
 * Preloaded into a program whose clocks and timers are to run FAST_CLOCK_FACTOR times as fast. Programs with the same FAST_CLOCK_ORIGIN_MS show the same time.
 * Timers inside Node (sockets, AbortSignal.timeout) and the clocks of servers run at the usual speed.
 */
import { syncBuiltinESMExports } from "node:module";
import promises from "node:timers/promises";

const factor = Number(process.env["FAST_CLOCK_FACTOR"]);
const originMs = Number(process.env["FAST_CLOCK_ORIGIN_MS"]);
if (!(factor >= 1) || !(originMs > 0)) throw new Error("The fast clock needs factor and origin");

const { setTimeout, setInterval } = globalThis;
const { setTimeout: pause, setInterval: ticks } = promises;
const now = Date.now.bind(Date);
const elapsed = performance.now.bind(performance);

// What code may ask of Date besides the present stays as it is.
const FastDate = new Proxy(Date, {
  construct: (target, args: readonly unknown[], newTarget): object =>
    Reflect.construct(target, args.length === 0 ? [target.now()] : args, newTarget),
});
Date.now = () => originMs + (now() - originMs) * factor;
performance.now = () => elapsed() * factor;
Object.assign(globalThis, {
  Date: FastDate,
  setTimeout: (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    setTimeout(callback, ms / factor, ...args),
  setInterval: (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    setInterval(callback, ms / factor, ...args),
});
Object.assign(promises, {
  setTimeout: (ms = 0, ...rest: [unknown?, object?]) => pause(ms / factor, ...rest),
  setInterval: (ms = 0, ...rest: [unknown?, object?]) => ticks(ms / factor, ...rest),
});
syncBuiltinESMExports();
