import { type ExitCode, exitCodes } from "../errors.ts";
import type { FailOn } from "../main/command-flags.ts";
import { notFoundErrors, reportOf, stampAt } from "../output/report.ts";
import { mapLimited } from "../spokes/read-clusters.ts";
import {
  type Diagnosis,
  type DiagnosisReport,
  type DiagnosisSummary,
  rootCauseOf,
  type Target,
} from "./diagnosis.ts";
import type { Hop } from "./hops/hop.ts";
import type { Vantage } from "./vantages.ts";
import { walkHub } from "./walk-hub.ts";
import { walkTarget } from "./walk-target.ts";
import type { WalkContext } from "./walk.ts";

export interface DiagnoseOptions {
  readonly targets: readonly Target[];
  readonly vantage: Vantage;
  readonly concurrency: number;
  /** Called after each target. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Walks to every target, and takes the steps on the hub once for all. Returns unfinished walks when the signal aborts. */
export async function diagnose(
  { targets, vantage, concurrency, onProgress }: DiagnoseOptions,
  context: WalkContext,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const hub = await walkHub(context, signal);
  // The time was over before the first step ended.
  if (hub.hops.length === 0) signal.throwIfAborted();
  let done = 0;
  return mapLimited(targets, concurrency, async (target) => {
    const { hops, finished } = await walkTarget(target, hub, { ...context, signal });
    done += 1;
    onProgress?.(done, targets.length);
    return { ...diagnosisOf(target, vantage, [...hub.hops, ...hops]), finished };
  });
}

/** The diagnosis for the steps of a walk. */
export function diagnosisOf(target: Target, vantage: Vantage, hops: readonly Hop[]): Diagnosis {
  const rootCause = rootCauseOf(hops) ?? null;
  return {
    target,
    vantage,
    severity: rootCause?.severity ?? "ok",
    rootCause,
    hops,
    differences: [],
    finished: true,
  };
}

/** The document for some walks. */
export function diagnosisReport(
  diagnoses: readonly Diagnosis[],
  { missing, now, cliVersion }: { missing: readonly string[]; now: Date; cliVersion?: string },
): DiagnosisReport {
  return reportOf("Diagnosis", stampAt(now, cliVersion), {
    complete: diagnoses.every(isComplete),
    summary: summaryOf(diagnoses),
    items: diagnoses.toSorted((a, b) => ranks[a.severity] - ranks[b.severity]),
    errors: notFoundErrors(missing),
  });
}

const ranks = { error: 0, warning: 1, ok: 2 } as const;

/** Whether no step was left out because the provider file, or the permission to run a plugin, is missing. */
function isComplete({ hops, finished }: Diagnosis): boolean {
  return finished && !hops.some(({ code }) => code === "KNF3001" || code === "KNF3013");
}

function summaryOf(diagnoses: readonly Diagnosis[]): DiagnosisSummary {
  const count = (severity: Diagnosis["severity"]): number =>
    diagnoses.filter((one) => one.severity === severity).length;
  const causes = diagnoses.flatMap(({ rootCause }) => rootCause ?? []);
  return {
    total: diagnoses.length,
    healthy: count("ok"),
    warnings: count("warning"),
    errors: count("error"),
    causes: [...Map.groupBy(causes, ({ code }) => code)]
      .map(([code, all]) => ({ code, name: all[0]?.name ?? "", count: all.length }))
      .toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1)),
  };
}

/** 2 when the hub cannot be asked, 1 for findings from `failOn` on and for unknown names, 3 for an incomplete walk. */
export function diagnosisExitCode(report: DiagnosisReport, failOn: FailOn): ExitCode {
  const { items, errors, complete, summary } = report;
  // The hub itself cannot be asked.
  const ofHub = ["KNF1001", "KNF1002", "KNF1003", "KNF1004"];
  if (items.some(({ rootCause }) => rootCause !== null && ofHub.includes(rootCause.code))) {
    return exitCodes.failed;
  }
  const counted = { error: summary.errors, warning: summary.errors + summary.warnings, never: 0 };
  if (errors.length > 0 || counted[failOn] > 0) return exitCodes.unhealthy;
  return complete || failOn === "never" ? exitCodes.fine : exitCodes.incomplete;
}
