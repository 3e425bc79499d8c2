import { readFile } from "node:fs/promises";

import { afterAll, afterEach, beforeAll, expect } from "vitest";

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
  afterAll(async () => {
    await started?.[Symbol.asyncDispose]();
    if (started?.hasOwnServers() === true) await findReason(expect.getState().testPath ?? "");
  });
  return () => {
    if (started === undefined) throw new Error("The fleet exists only in tests and hooks");
    return started;
  };
}

/** Servers that are started for one file cost seconds: the file says what for. */
async function findReason(file: string): Promise<void> {
  const firstLines = (await readFile(file, "utf8")).split("\n", 3);
  if (firstLines.some((line) => line.startsWith("// Servers of its own: "))) return;
  throw new Error(
    "This file has servers of its own. Say why in its first lines: // Servers of its own: …",
  );
}

function pool(): ClusterPool {
  poolOfWorker ??= new ClusterPool();
  return poolOfWorker;
}

function printLine(line: string): void {
  console.error(line);
}
