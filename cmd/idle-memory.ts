import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What is looked at to decide whether to collect. */
export interface HeapView {
  /** Share of the last interval in which the event loop worked, 0 to 1. */
  readonly utilization: number;
  /** What the heap takes from the system, in use or not. */
  readonly heapBytes: number;
  /** The same after the last collection; 0 before the first. */
  readonly leastBytes: number;
}

const intervalMs = 5_000;
const slabBytes = 8 * 1024;
const idleUtilization = 0.1;
const worthwhileGrowth = 1.25;

/** Whether the process is idle and its heap so much bigger than after the last collection that one is worth its pause. */
export function isCollectionDue({ utilization, heapBytes, leastBytes }: HeapView): boolean {
  return utilization < idleUtilization && heapBytes > leastBytes * worthwhileGrowth;
}

/**
 * Gives memory back after a burst of work. V8 grows its heap for a burst and does not shrink it while nothing allocates, so that
 * an idle controller would hold 60 MB that it never uses; a full collection of the 20 MB that live takes about 30 ms.
 */
export function collectWhenIdle(): Disposable {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("V8 has no collector to call");
  let last = performance.eventLoopUtilization();
  let leastBytes = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    const { heapTotal: heapBytes } = process.memoryUsage();
    if (!isCollectionDue({ utilization, heapBytes, leastBytes })) return;
    collect({ type: "major", execution: "sync", flavor: "last-resort" });
    leastBytes = process.memoryUsage().heapTotal;
  }, intervalMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/**
 * Makes small buffers share slabs of 8 KiB instead of Node's 64: the smallest buffer that lives keeps its whole slab, and TLS keeps one
 * for each connection, the names of its protocols.
 */
export function keepSlabsSmall(): void {
  Buffer.poolSize = slabBytes;
}
