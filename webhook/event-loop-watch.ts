import { monitorEventLoopDelay } from "node:perf_hooks";

/** Whether the event loop keeps up. */
export interface EventLoopWatch extends Disposable {
  /** True when in each of the last ten seconds 1 % of the turns or more came half a second late. */
  readonly isSlow: () => boolean;
}

const lookMs = 1_000;
const slowMs = 500;
const patienceMs = 10_000;

/** When slowness began, given how it was and how late the loop's turns were since; undefined while it is not slow. */
export function slowSince(
  before: number | undefined,
  { p99Ms, nowMs }: { readonly p99Ms: number; readonly nowMs: number },
): number | undefined {
  return p99Ms > slowMs ? (before ?? nowMs) : undefined;
}

/** Watches the delay of this process's event loop. Security: "Node" rules. */
export function watchEventLoop(): EventLoopWatch {
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  let sinceMs: number | undefined;
  const timer = setInterval(() => {
    const p99Ms = delays.percentile(99) / 1e6;
    sinceMs = slowSince(sinceMs, { p99Ms, nowMs: performance.now() });
    delays.reset();
  }, lookMs);
  timer.unref();
  return {
    isSlow: () => sinceMs !== undefined && performance.now() - sinceMs >= patienceMs,
    [Symbol.dispose]() {
      clearInterval(timer);
      delays.disable();
    },
  };
}
