import { afterAll, afterEach, beforeAll } from "vitest";

import { startFleet, startSpokes, type Fleet, type FleetOptions, type Spokes } from "./fleet.ts";
import { ClusterPool } from "./pool/cluster-pool.ts";

// Kept by the worker from file to file: it runs them without isolation.
let poolOfWorker: ClusterPool | undefined;

/**
 * One fleet for all tests of a file: there before the first, gone after the last; its folder is kept and printed
 * when a test failed. Clusters come from the pool of the worker; clusters with flags of their own, and those of which the file harms a server,
 * are for this file alone. Returns a function that gives the fleet inside of tests and hooks.
 */
export function useFleet(options: FleetOptions = {}): () => Fleet {
  return useStarted(() => startFleet({ log: printLine, ...options }, pool()));
}

/** The same without a hub, for tests that need no more than clusters. */
export function useSpokes(spokes: FleetOptions["spokes"] = 1): () => Spokes {
  return useStarted(() => startSpokes({ log: printLine, spokes }, pool()));
}

function useStarted<Started extends Spokes>(start: () => Promise<Started>): () => Started {
  let started: Started | undefined;
  // Generous, because a first start may have to build the programs; `npm test` builds them before.
  beforeAll(async () => {
    started = await start();
  }, 1_800_000);
  afterEach(({ task }) => {
    if (task.result?.state === "fail") started?.keep();
  });
  afterAll(async () => started?.[Symbol.asyncDispose]());
  return () => {
    if (started === undefined) throw new Error("The fleet exists only in tests and hooks");
    return started;
  };
}

function pool(): ClusterPool {
  poolOfWorker ??= new ClusterPool();
  return poolOfWorker;
}

function printLine(line: string): void {
  console.error(line);
}
