import { type ActionInput, print } from "../../action.ts";
import type { ExitCode } from "../../errors.ts";
import { oneOf } from "../../flags.ts";
import { openHub } from "../../hub/open-hub.ts";
import { openProgress } from "../../output/progress.ts";
import { commandsOf, withHubSteps } from "../../output/steps.ts";
import { diagnose, diagnosisExitCode, diagnosisReport } from "./diagnose.ts";
import { diagnosisRendering } from "./diagnosis-text.ts";
import {
  type DiagnoseFlags,
  type Diagnosis,
  type DiagnosisReport,
  type Vantage,
  vantages,
} from "./diagnosis.ts";
import { prepareWalk } from "./prepare-walk.ts";
import { selectTargets } from "./targets.ts";
import type { Elsewhere } from "./walk-elsewhere.ts";
import type { WalkContext } from "./walk.ts";

type Input = ActionInput<DiagnoseFlags>;

/** `kubectl knfleet diagnose`. */
export async function runDiagnose(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const failOn = oneOf(options.failOn ?? "error", ["error", "warning", "never"], "--fail-on");
  const report =
    flags.recorded === undefined
      ? await walk(input, {}, signal)
      : await (await import("../../bundle/recorded-diagnosis.ts")).recordedDiagnosis(input, signal);
  if (options.reportFile !== undefined) {
    const { writeShortReport } = await import("./short-report.ts");
    await writeShortReport(options.reportFile, report);
  }
  const shown = withHubSteps(report, commandsOf({ ...flags, bundle: undefined }));
  const { folded } = options;
  const view = { flags, terminal, ...(folded === undefined ? {} : { folded }) };
  await print(diagnosisRendering(shown, view), flags, terminal);
  return diagnosisExitCode(report, failOn);
}

/** The walks of a command line. Throws the error of a hub that does not answer. */
export async function walk(
  input: Input,
  watching: Pick<WalkContext, "onCredential">,
  signal: AbortSignal,
): Promise<DiagnosisReport> {
  const { flags, options, terminal } = input;
  const vantage = oneOf(options.from ?? "local", vantages, "--from");
  const { env, now, stderr } = terminal;
  await using opened = new AsyncDisposableStack();
  const { client, namespace, source } = opened.use(await openHub(flags, { env, ...watching }));
  const context = await prepareWalk(input, { hub: client, source, files: opened, ...watching });
  const { targets, missing } = await selectTargets(input, { hub: client, namespace }, signal);
  const progress = openProgress(flags.quiet ? undefined : stderr, flags);
  const walks = { targets, concurrency: flags.concurrency, onProgress: progress.update };
  const diagnoses = await walkFrom(vantage, { input, context, walks }, signal).finally(
    progress.end,
  );
  return diagnosisReport(diagnoses, { missing, now: now() });
}

async function walkFrom(
  vantage: Vantage,
  { input, context, walks }: Omit<Elsewhere, "local">,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const local = await diagnose({ ...walks, vantage: "local" }, context, signal);
  if (vantage === "local") return local;
  const { walkElsewhere } = await import("./walk-elsewhere.ts");
  return walkElsewhere(vantage, { input, context, walks, local }, signal);
}
