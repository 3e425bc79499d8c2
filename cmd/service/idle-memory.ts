import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What is looked at to decide whether to collect. */
export interface HeapView {
  /** Share of the last interval in which the event loop worked, 0 to 1. */
  readonly utilization: number;
  /** What the heap takes from the system, in use or not. */
  readonly heapBytes: number;
  /** Those since the heap has grown, the latest last. */
  readonly collections: readonly Collection[];
}

/** How long a collection stopped the process, and what it left. */
export interface Collection {
  readonly tookMs: number;
  /** What the heap takes from the system. */
  readonly heapBytes: number;
  /** What is in use of it. */
  readonly usedBytes: number;
}

const intervalMs = 5_000;
const slabBytes = 8 * 1024;
const idleUtilization = 0.1;
const worthwhileGrowth = 1.25;
const worthwhileLoss = 0.99;
const shortPauseMs = 250;

/**
 * Whether the process is idle and a collection is worth its pause: the `first` one since the heap has grown, or the `next` one because that was short and may
 * have left something, as the one before it did. What a burst leaves behind is let go bit by bit, as timers end and streams are closed, for some 20 s.
 */
export function collectionDue({
  utilization,
  heapBytes,
  collections,
}: HeapView): "first" | "next" | undefined {
  if (utilization >= idleUtilization) return undefined;
  const [last, before] = collections.toReversed();
  if (last === undefined || heapBytes > last.heapBytes * worthwhileGrowth) return "first";
  if (last.tookMs > shortPauseMs) return undefined;
  const hasFound = before === undefined || last.usedBytes < before.usedBytes * worthwhileLoss;
  return hasFound ? "next" : undefined;
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
  let collections: readonly Collection[] = [];
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    const { heapTotal: heapBytes } = process.memoryUsage();
    const due = collectionDue({ utilization, heapBytes, collections });
    if (due === undefined) return;
    const startedAt = performance.now();
    collect({ type: "major", execution: "sync", flavor: "last-resort" });
    const tookMs = performance.now() - startedAt;
    const left = process.memoryUsage();
    const collection = { tookMs, heapBytes: left.heapTotal, usedBytes: left.heapUsed };
    collections = due === "first" ? [collection] : [...collections, collection];
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
