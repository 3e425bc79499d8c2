import { decide } from "../../sets/decide.ts";
import { largeFacts, largeNow } from "../sets/large-set.ts";
import { medianOf, tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import { measureTenant, tenantGoals, tenantReport, type TenantResult } from "./tenant-part.ts";

/** What fleet sets cost, without any cluster. */
export interface SetsResult {
  readonly decisions: readonly DecisionResult[];
  readonly tenants: readonly TenantResult[];
}

/** Decisions about a set of so many clusters in the middle of a rollout. */
interface DecisionResult {
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

/** Decides about sets of 1,000 and of 10,000 clusters again and again, and edits one of 2,000 sets. */
export async function measureSets(say: (line: string) => void): Promise<SetsResult> {
  return { decisions: measureDecisions(say), tenants: await measureTenant(say) };
}

function measureDecisions(say: (line: string) => void): readonly DecisionResult[] {
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

/** What a decision about a set, and an edit among many sets, may take. */
export function setsGoals(results: SetsResult | null): readonly Goal[] {
  const { tenants = [] } = results ?? {};
  const [small, large] = results?.decisions ?? [];
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
    ...tenantGoals(tenants),
  ];
}

/** Tables of the decisions and of the edits. */
export function setsReport(results: SetsResult): string {
  const rows = results.decisions.map(({ clusters, elapsedMs, cpuMs, statusBytes }) => [
    String(clusters),
    milliseconds(elapsedMs),
    milliseconds(cpuMs),
    `${statusBytes} bytes`,
  ]);
  return [
    `A decision about a set in the middle of a rollout (median of ${decisions})`,
    tableOf(["Clusters", "Decision", "CPU", "Status"], rows),
    "",
    tenantReport(results.tenants),
  ].join("\n");
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
