import { afterAll, afterEach, beforeAll } from "vitest";

import { startFleet, type Fleet, type FleetOptions } from "./fleet.ts";

/**
 * One fleet for all tests of a file: started before the first, stopped after the last; its folder is kept and printed
 * when a test failed. Returns a function that gives the fleet inside of tests and hooks.
 */
export function useFleet(options: FleetOptions = {}): () => Fleet {
  let fleet: Fleet | undefined;
  // Generous, because a first start may have to build the programs; `npm test` builds them before.
  beforeAll(async () => {
    fleet = await startFleet({ log: (line) => console.error(line), ...options });
  }, 1_800_000);
  afterEach(({ task }) => {
    if (task.result?.state === "fail") fleet?.keep();
  });
  afterAll(async () => fleet?.[Symbol.asyncDispose]());
  return () => {
    if (fleet === undefined) throw new Error("The fleet exists only in tests and hooks");
    return fleet;
  };
}
