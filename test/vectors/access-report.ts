import type { AccessCase } from "./access-cases.ts";
import type { Difference } from "./compare-render.ts";
import { resolutionDifferences } from "./compare-resolution.ts";
import { runDifferences } from "./compare-run.ts";
import { type RecordedIdentities, recordedIdentities } from "./recorded-identities.ts";
import { verdictOf } from "./render-report.ts";
import type { FolderResult, Verdict } from "./verdict.ts";

const resolutionGroups = ["resolution", "loader", "extensions", "endpoint"];

/** True for a case that is loaded and resolved, but not run. */
function isResolution({ group }: AccessCase): boolean {
  return resolutionGroups.includes(group);
}

/** What is different in one case, as a verdict. */
export async function accessVerdict(
  one: AccessCase,
  identities: RecordedIdentities,
  signal: AbortSignal,
): Promise<Verdict> {
  return verdictOf(one.name, await differencesOf(one, identities, signal));
}

/** Runs cases one after another, and calls `report` with each verdict. */
export async function runAccessVectors(
  cases: readonly AccessCase[],
  report: (verdict: Verdict) => void,
  signal: AbortSignal,
): Promise<FolderResult> {
  const identities = recordedIdentities();
  const result = { equal: 0, different: 0, wrong: 0 };
  for (const one of cases) {
    const verdict = await accessVerdict(one, identities, signal);
    result[verdict.kind] += 1;
    report(verdict);
  }
  return result;
}

async function differencesOf(
  one: AccessCase,
  identities: RecordedIdentities,
  signal: AbortSignal,
): Promise<readonly Difference[]> {
  try {
    if (isResolution(one)) return await resolutionDifferences(one, signal);
    return await runDifferences(one, identities, signal);
  } catch (error) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return [{ defect: undefined, text }];
  }
}
