import { diagnosisExitCode } from "../../findings/diagnose.ts";
import { diagnosisView } from "../../findings/diagnosis-text.ts";
import type { DiagnoseFlags, Diagnosis } from "../../findings/diagnosis.ts";
import { walkFleet } from "../../findings/walk-fleet.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { FailOn } from "../../main/command-flags.ts";
import type { Report } from "../../main/report.ts";
import { commandsOf, withHubSteps } from "../../output/steps.ts";

interface Options extends DiagnoseFlags {
  readonly failOn?: FailOn;
  readonly reportFile?: string;
}

/** Walks to what the arguments name, or takes the walks of a bundle. Throws UsageError, and the error of a hub that does not answer. */
export async function diagnoseTargets(fleet: Fleet, options: Options): Promise<Report<Diagnosis>> {
  const { flags } = fleet;
  const report =
    flags.recorded === undefined
      ? await walkFleet(fleet, options)
      : await (
          await import("../../bundle/recorded-diagnosis.ts")
        ).recordedDiagnosis(fleet, options);
  if (options.reportFile !== undefined) {
    const { writeShortReport } = await import("../../findings/short-report.ts");
    await writeShortReport(options.reportFile, report);
  }
  const shown = withHubSteps(report, commandsOf({ ...flags, bundle: undefined }));
  return {
    ...diagnosisView(shown, fleet.commands),
    exitCode: diagnosisExitCode(report, options.failOn ?? "error"),
  };
}
