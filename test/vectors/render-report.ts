import { stringify } from "yaml";

import type { Manifest } from "../../api/kubernetes.ts";
import { unifiedDiff } from "../../cmd/kubectl/compare/unified-diff.ts";
import { componentCheck } from "../../cmd/kubectl/selection/component-documents.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { type Difference, differencesOf } from "./compare-render.ts";
import { runCase } from "./render-case.ts";
import type { RenderCase, RenderVectors } from "./render-cases.ts";
import type { FolderResult, Verdict } from "./verdict.ts";

/** Runs all cases of a folder, one after another, and calls `report` with each verdict. */
export async function runRenderVectors(
  { cases, normalize }: RenderVectors,
  releaseDir: string,
  report: (verdict: Verdict) => void,
): Promise<FolderResult> {
  const tools = { releases: await openReleases(releaseDir), check: componentCheck() };
  const result = { equal: 0, different: 0, wrong: 0 };
  for (const one of cases) {
    const verdict = verdictOf(one.name, await differences(one));
    result[verdict.kind] += 1;
    report(verdict);
  }
  return result;

  async function differences(one: RenderCase): Promise<readonly Difference[]> {
    try {
      return differencesOf(one, await runCase(one, tools), normalize);
    } catch (error) {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      return [{ defect: undefined, text }];
    }
  }
}

/** What a case's differences come to; the details are a diff for people. */
export function verdictOf(name: string, differences: readonly Difference[]): Verdict {
  if (differences.length === 0) return { name, kind: "equal", defects: [], details: "" };
  const wrong = differences.filter(({ defect }) => defect === undefined);
  const defects = [...new Set(differences.flatMap(({ defect }) => defect ?? []))];
  if (wrong.length === 0) return { name, kind: "different", defects, details: "" };
  return { name, kind: "wrong", defects: [], details: wrong.map(detailOf).join("\n") };
}

function detailOf({ text, sides }: Difference): string {
  if (sides === undefined) return text;
  const { id, expected, actual } = sides;
  return unifiedDiff(
    { name: `upstream ${id}`, text: textOf(expected) },
    { name: `knfleet ${id}`, text: textOf(actual) },
  );
}

// The order of fields has no meaning, and would hide what differs.
function textOf(object: Manifest | undefined): string | undefined {
  return object && stringify(object, { lineWidth: 0, sortMapEntries: true });
}
