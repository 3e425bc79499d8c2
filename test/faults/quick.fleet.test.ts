import { afterAll, beforeAll, expect, test } from "vitest";

import { startFaultBench, type FaultBench } from "./fault-bench.ts";
import { runFaults } from "./run-faults.ts";
import { tableOf } from "./table.ts";

const seed = Math.floor(Math.random() * 1_000_000);
const say = (line: string): void => console.error(line);
let bench: FaultBench | undefined;

beforeAll(async () => {
  console.error(`Fault bench, seed ${seed}`);
  bench = await startFaultBench({ seed, say });
}, 1_800_000);
afterAll(async () => bench?.[Symbol.asyncDispose]());

async function lostAmong(only: readonly string[] | undefined): Promise<readonly unknown[]> {
  if (bench === undefined) throw new Error("The bench exists only in tests");
  const plan = { quick: true, point: {}, ...(only === undefined ? {} : { only }) };
  const results = await runFaults(bench, plan);
  expect(results.length).toBeGreaterThan(0);
  console.error(tableOf(results, seed));
  return results.filter(({ survived }) => !survived);
}

test("C1, C28: a controller that dies at a write of install, upgrade or uninstall is followed by one that ends in the same state", async () => {
  expect(await lostAmong(["C1", "C28"])).toEqual([]);
}, 600_000);

test("C6, C14, C19: what happens to the hub is survived", async () => {
  expect(await lostAmong(["C6", "C14", "C19"])).toEqual([]);
}, 600_000);

test("C9 to C13: what happens on the way to a spoke, and what it answers, is survived", async () => {
  expect(await lostAmong(["C9", "C10", "C11", "C12", "C13"])).toEqual([]);
}, 600_000);

test("C15, C16, C24: what happens to tokens, plugins and the provider file is survived", async () => {
  expect(await lostAmong(["C15", "C16", "C24"])).toEqual([]);
}, 600_000);

test("C17, C18, C23: wrong clocks, a leader that was frozen and a lost anchor are survived", async () => {
  expect(await lostAmong(["C17", "C18", "C23"])).toEqual([]);
}, 600_000);
