import { UsageError } from "../errors.ts";
import { diagnosisReport } from "../findings/diagnose.ts";
import { type DiagnoseFlags, type DiagnosisReport, isSameTarget } from "../findings/diagnosis.ts";
import { selectTargets } from "../findings/targets.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { documentOf } from "./bundle-document.ts";
import { diagnosisFile } from "./bundle.ts";
import { recordedClient } from "./recorded-client.ts";

/** The walks of a bundle that the command line selects. Throws UsageError for a bundle without walks. */
export async function recordedDiagnosis(
  fleet: Fleet,
  options: DiagnoseFlags,
): Promise<DiagnosisReport> {
  const { recorded } = fleet.flags;
  const report = recorded && documentOf(recorded, diagnosisFile);
  if (recorded === undefined || report === undefined) {
    throw new UsageError("The bundle holds no walks: gather could not make any", [
      "Read the bundle with status and tree.",
    ]);
  }
  const access = { hub: recordedClient(recorded.hub), namespace: recorded.namespace };
  const input = fleet.asInput(options);
  const { targets, missing } = await selectTargets(input, access, fleet.signal);
  const walks = targets.map((target) => ({
    name: `${target.kind} ${target.namespace}/${target.name}`,
    walk: report.items.find((item) => isSameTarget(item.target, target)),
  }));
  return diagnosisReport(
    walks.flatMap(({ walk }) => walk ?? []),
    {
      missing: [
        ...missing,
        ...walks.filter(({ walk }) => walk === undefined).map(({ name }) => name),
      ],
      now: fleet.now(),
      cliVersion: report.cliVersion,
    },
  );
}
