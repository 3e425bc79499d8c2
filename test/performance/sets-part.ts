import { decide } from "../../sets/decide.ts";
import { largeFacts, largeNow } from "../sets/large-set.ts";
import { medianOf, tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";

/** Decisions about a set of so many clusters in the middle of a rollout, without any cluster. */
export interface SetsResult {
  readonly clusters: number;
  /** Medians of one decision: its time, and that of all threads on a processor, which does not depend on what else the machine does. */
  readonly elapsedMs: number;
  readonly cpuMs: number;
  readonly statusBytes: number;
}

const sizes = [1_000, 10_000] as const;
const decisions = 21;
// The first ones compile the code.
const warmUps = 20;

/** Decides about sets of 1,000 and of 10,000 clusters again and again. */
export function measureSets(say: (line: string) => void): readonly SetsResult[] {
  return sizes.map((clusters) => {
    say(`Deciding about a set of ${clusters} clusters`);
    const facts = largeFacts(clusters);
    const { status } = decide(facts, largeNow);
    const set = { ...facts.set, status };
    const all = Array.from({ length: warmUps + decisions }, () => {
      const startedAt = performance.now();
      const startedCpu = process.cpuUsage();
      decide({ ...facts, set }, largeNow);
      const { user, system } = process.cpuUsage(startedCpu);
      return { elapsedMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 };
    });
    const times = all.slice(warmUps);
    return {
      clusters,
      elapsedMs: medianOf(times.map(({ elapsedMs }) => elapsedMs)),
      cpuMs: medianOf(times.map(({ cpuMs }) => cpuMs)),
      statusBytes: Buffer.byteLength(JSON.stringify(status)),
    };
  });
}

/** What a decision about a set may take. */
export function setsGoals(results: readonly SetsResult[]): readonly Goal[] {
  const [small, large] = results;
  if (small === undefined || large === undefined) return [];
  return [
    {
      text: "CPU time of a decision about a set of 1,000 clusters",
      value: small.cpuMs,
      limit: 50,
      show: milliseconds,
    },
    {
      text: "The same with 10,000 clusters, compared with 1,000",
      value: large.cpuMs / small.cpuMs,
      limit: 12,
      show: (value) => `${value.toFixed(1)} times`,
    },
    {
      text: "The status of a set of 10,000 clusters",
      value: large.statusBytes,
      limit: 32 * 1_024,
      show: (value) => `${value} bytes`,
    },
  ];
}

/** Table of the decisions. */
export function setsReport(results: readonly SetsResult[]): string {
  const rows = results.map(({ clusters, elapsedMs, cpuMs, statusBytes }) => [
    String(clusters),
    milliseconds(elapsedMs),
    milliseconds(cpuMs),
    `${statusBytes} bytes`,
  ]);
  return [
    `A decision about a set in the middle of a rollout (median of ${decisions})`,
    tableOf(["Clusters", "Decision", "CPU", "Status"], rows),
  ].join("\n");
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
