import { afterAll, beforeAll, expect, test } from "vitest";

import { waitFor } from "../fleet/wait-for.ts";
import { seed } from "../support/fuzz.ts";
import { startFaultBench, type FaultBench } from "./fault-bench.ts";
import { faultCases } from "./fault-cases.ts";
import { type FaultPlan, runFaults } from "./run-faults.ts";
import { tableOf } from "./table.ts";
import { expectedOf, tryFault, type Expected, type FaultCase } from "./trial.ts";

const say = (line: string): void => console.error(line);
let bench: FaultBench | undefined;
let expected: Expected;

beforeAll(async () => {
  console.error(`Fault bench, seed ${seed}`);
  bench = await startFaultBench({ seed, say });
  expected = await expectedOf(bench);
}, 1_800_000);
afterAll(async () => bench?.[Symbol.asyncDispose]());

async function lostAmong(plan: Pick<FaultPlan, "only" | "match">): Promise<readonly unknown[]> {
  if (bench === undefined) throw new Error("The bench exists only in tests");
  const results = await runFaults(bench, { quick: true, point: {}, ...plan, expected });
  expect(results.length).toBeGreaterThan(0);
  console.error(tableOf(results, seed));
  return results.filter(({ survived }) => !survived);
}

// More than 15 s: Serving and Eventing are lived through once undisturbed and once with a death in each phase, after which another process starts.
test("C1, C28: a controller that dies at a write of install, upgrade or uninstall is followed by one that ends in the same state", async () => {
  expect(await lostAmong({ only: ["C1", "C28"] })).toEqual([]);
}, 900_000);

const quickFaults = faultCases.filter(({ isQuick }) => isQuick);

test.each(quickFaults.map(({ id, fault }) => [id, fault] as const))(
  "%s is survived: %s",
  async (id, fault) => {
    expect(await lostAmong({ only: [id], match: fault })).toEqual([]);
  },
  900_000,
);

test("a controller that ends by itself has not survived, although another one does its work", async () => {
  if (bench === undefined) throw new Error("The bench exists only in tests");
  const suicide: FaultCase = {
    id: "C22",
    fault: "the controller is killed by nobody's fault",
    isQuick: false,
    harm: async (trial) => {
      await trial.installed();
      await trial.controller.kill();
      await waitFor("the next one", () => trial.restarts > 0, { timeoutMs: 60_000 });
    },
  };
  const { survived, notes } = await tryFault(bench, suicide, expected);
  expect([survived, notes.join()]).toEqual([
    false,
    expect.stringContaining("The controller ended with SIGKILL"),
  ]);
  // As a fault that may end it, the same is survived.
  const allowed = await tryFault(bench, { ...suicide, mayEnd: true }, expected);
  expect(allowed).toMatchObject({ survived: true });
}, 900_000);
