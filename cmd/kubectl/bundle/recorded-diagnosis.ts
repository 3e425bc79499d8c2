import type { ActionInput } from "../action.ts";
import { diagnosisReport } from "../commands/diagnose/diagnose.ts";
import {
  type DiagnoseFlags,
  type DiagnosisReport,
  isSameTarget,
} from "../commands/diagnose/diagnosis.ts";
import { selectTargets } from "../commands/diagnose/targets.ts";
import { UsageError } from "../errors.ts";
import { documentOf } from "./bundle-document.ts";
import { diagnosisFile } from "./bundle.ts";
import { recordedClient } from "./recorded-client.ts";

/** The walks of a bundle that the command line selects. Throws UsageError for a bundle without walks. */
export async function recordedDiagnosis(
  input: ActionInput<DiagnoseFlags>,
  signal: AbortSignal,
): Promise<DiagnosisReport> {
  const { flags, terminal } = input;
  const { recorded } = flags;
  const report = recorded && documentOf(recorded, diagnosisFile);
  if (recorded === undefined || report === undefined) {
    throw new UsageError("The bundle holds no walks: gather could not make any", [
      "Read the bundle with status and tree.",
    ]);
  }
  const access = { hub: recordedClient(recorded.hub), namespace: recorded.namespace };
  const { targets, missing } = await selectTargets(input, access, signal);
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
      now: terminal.now(),
      cliVersion: report.cliVersion,
    },
  );
}
