import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import { waitFor } from "../../fleet/wait-for.ts";
import { usageOf } from "../../performance/process-usage.ts";
import { everyNth, failure, isOrdinary, type Fault } from "../fault.ts";
import { backwards, endless, jsonAnswer, oldServer } from "../rules.ts";
import { memoryLimitBytes, type FaultCase, type Trial } from "../trial.ts";

interface Hostile {
  readonly id: string;
  readonly fault: string;
  readonly answer: () => Fault;
  readonly isQuick: boolean;
}

/** Answers that no healthy API server gives; each comes to every fifth request for 4 s. */
const hostile: readonly Hostile[] = [
  {
    id: "C9",
    fault: "500 and no reason",
    answer: () => failure(500, "InternalError", "the fault bench says no"),
    isQuick: false,
  },
  {
    id: "C9",
    fault: "503 from something in between, as HTML",
    answer: () => ({
      kind: "answer",
      status: 503,
      headers: { "content-type": "text/html" },
      body: "<html>Bad day</html>",
    }),
    isQuick: false,
  },
  {
    id: "C9",
    fault: "the connection is cut after the server has done it",
    answer: () => ({ kind: "reset", when: "after" }),
    isQuick: false,
  },
  {
    id: "C9",
    fault: "JSON that ends in the middle",
    answer: () => ({ kind: "truncate", bytes: 120 }),
    isQuick: false,
  },
  {
    id: "T-12",
    fault: "a redirect to somewhere else",
    answer: () => ({
      kind: "answer",
      status: 307,
      headers: { location: "https://127.0.0.1:9/elsewhere" },
    }),
    isQuick: false,
  },
  {
    id: "T-50",
    fault: "24 KiB of headers",
    answer: () => ({
      kind: "answer",
      status: 200,
      headers: { "content-type": "application/json", "x-much": "m".repeat(24 * 1024) },
      body: "{}",
    }),
    isQuick: false,
  },
  {
    id: "T-50",
    fault: "one byte each 50 ms",
    answer: () => ({ kind: "trickle", bytes: 1, everyMs: 50 }),
    isQuick: false,
  },
  {
    id: "T-50",
    fault: "1 MiB of gzip that unpacks to 1 GiB",
    answer: () => ({
      kind: "answer",
      status: 200,
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
      body: bomb(),
    }),
    isQuick: false,
  },
  {
    id: "T-50",
    fault: "nothing at all",
    answer: () => ({ kind: "hang" }),
    isQuick: false,
  },
  {
    id: "T-54",
    fault: "64 KiB of noise that calls itself JSON",
    answer: () => ({
      kind: "answer",
      status: 200,
      headers: { "content-type": "application/json" },
      body: randomBytes(64 * 1024),
    }),
    isQuick: false,
  },
];

/** What no healthy API server answers. */
export const hostileCases: readonly FaultCase[] = [
  ...hostile.map(({ id, fault, answer, isQuick }): FaultCase => ({
    id,
    fault: `the spoke answers every fifth request with ${fault}`,
    isQuick,
    async harm(trial) {
      using _ = trial.target.proxy.inject(everyNth(5, answer(), isOrdinary));
      await trial.create();
      await delay(4_000);
    },
    afterwards: withinMemory,
  })),
  {
    id: "T-54",
    fault: "the spoke's lists never end: every page is empty and names a next one",
    isQuick: false,
    async harm(trial) {
      const { proxy } = trial.target;
      using _endless = proxy.inject(endless());
      using _old = proxy.inject(oldServer());
      await trial.create();
      const pages = (): number =>
        proxy.requests.filter(({ path }) => path.includes("continue=")).length;
      await waitFor("a second page", () => pages() > 0);
      await delay(5_000);
      trial.note(`${pages()} pages in 5 s`);
    },
  },
  {
    id: "T-54",
    fault: "versions run backwards: each watch says once that the spoke is at version 1",
    isQuick: false,
    async harm(trial) {
      const { proxy } = trial.target;
      await trial.installed();
      using _ = proxy.inject(backwards());
      // Their watches begin anew, and hear it.
      proxy.cut();
      await delay(3_000);
      await trial.deleteDeployment();
      await delay(3_000);
    },
  },
  {
    id: "T-54",
    fault: "the spoke lies about its version: an ancient one, then 1 MiB of escapes, then none",
    isQuick: false,
    async harm(trial) {
      const { proxy } = trial.target;
      const lies = ["v1.2.3", "\u001B[31m".repeat(200_000), 7];
      using _ = proxy.inject(({ path, number }) =>
        path === "/version"
          ? jsonAnswer({ major: "1", minor: "2", gitVersion: lies[number % lies.length] })
          : undefined,
      );
      await trial.create();
      await delay(6_000);
    },
  },
];

async function withinMemory(trial: Trial): Promise<void> {
  const { peakResidentBytes } = await usageOf(trial.controller.pid);
  if (peakResidentBytes > memoryLimitBytes) throw new Error(`${peakResidentBytes} bytes of memory`);
}

let packed: Buffer | undefined;

function bomb(): Buffer {
  packed ??= gzipSync(Buffer.alloc(1024 * 1024 * 1024));
  return packed;
}
