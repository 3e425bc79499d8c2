import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { clockArguments, clockEnvironment } from "./clock-factor.ts";

const run = promisify(execFile);

/** Prints what its clocks say about pauses of two seconds, how long they took in fact, and how far Date is ahead. */
const program = `
import { setTimeout as delay } from "node:timers/promises";
const [real, elapsed, date] = [process.hrtime.bigint(), performance.now(), Date.now()];
await delay(1_000);
await new Promise((resolve) => setTimeout(resolve, 1_000));
const tookMs = Number(process.hrtime.bigint() - real) / 1e6;
const seen = { elapsedMs: performance.now() - elapsed, dateMs: new Date().getTime() - date };
console.log(JSON.stringify({ tookMs, ...seen, isDate: new Date(0).toISOString() }));
`;

test("a program with a fast clock sees its pauses pass, in a part of the time", async () => {
  const args = [...clockArguments(10), "--input-type=module", "--eval", program];
  const env = { ...process.env, ...clockEnvironment(10) };
  const { stdout } = await run(process.execPath, args, { env });
  const seen: Readonly<Record<string, unknown>> = JSON.parse(stdout);
  expect(seen["elapsedMs"]).toBeGreaterThanOrEqual(1_990);
  expect(seen["dateMs"]).toBeGreaterThanOrEqual(1_990);
  expect(Number(seen["elapsedMs"]) / Number(seen["tookMs"])).toBeCloseTo(10, 0);
  expect(seen["isDate"]).toBe("1970-01-01T00:00:00.000Z");
});

test("without a factor nothing is preloaded", () => {
  expect([clockArguments(1), clockEnvironment(1)]).toEqual([[], {}]);
});
