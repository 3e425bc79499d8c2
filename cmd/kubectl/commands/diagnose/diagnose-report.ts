import type { ActionInput } from "../../action.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { openHub } from "../../hub/open-hub.ts";
import type { FailOn } from "../../main/command-flags.ts";
import type { Report } from "../../main/report.ts";
import { openProgress } from "../../output/progress.ts";
import { commandsOf, withHubSteps } from "../../output/steps.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { diagnose, diagnosisExitCode, diagnosisReport } from "./diagnose.ts";
import { diagnosisView } from "./diagnosis-text.ts";
import {
  type DiagnoseFlags,
  type Diagnosis,
  type DiagnosisReport,
  type Target,
  isSetTarget,
} from "./diagnosis.ts";
import { prepareWalk } from "./prepare-walk.ts";
import { selectTargets } from "./targets.ts";
import type { Vantage } from "./vantages.ts";
import type { Elsewhere } from "./walk-elsewhere.ts";
import { troubledClusters, withClusters } from "./walk-set.ts";
import type { WalkContext } from "./walk.ts";

type Input = ActionInput<DiagnoseFlags>;

interface Options extends DiagnoseFlags {
  readonly failOn?: FailOn;
  readonly reportFile?: string;
}

/** Walks to what the arguments name, or takes the walks of a bundle. Throws UsageError, and the error of a hub that does not answer. */
export async function diagnoseTargets(fleet: Fleet, options: Options): Promise<Report<Diagnosis>> {
  const { flags, signal } = fleet;
  const input = fleet.asInput(options);
  const report =
    flags.recorded === undefined
      ? await walk(input, {}, signal)
      : await (await import("../../bundle/recorded-diagnosis.ts")).recordedDiagnosis(input, signal);
  if (options.reportFile !== undefined) {
    const { writeShortReport } = await import("./short-report.ts");
    await writeShortReport(options.reportFile, report);
  }
  const shown = withHubSteps(report, commandsOf({ ...flags, bundle: undefined }));
  return {
    ...diagnosisView(shown, fleet.commands),
    exitCode: diagnosisExitCode(report, options.failOn ?? "error"),
  };
}

/** The walks of a command line. Throws the error of a hub that does not answer. */
export async function walk(
  input: Input,
  watching: Pick<WalkContext, "onCredential">,
  signal: AbortSignal,
): Promise<DiagnosisReport> {
  const { flags, options, terminal } = input;
  const vantage = options.from ?? "local";
  const { env, now, stderr } = terminal;
  await using opened = new AsyncDisposableStack();
  const { client, namespace, source } = opened.use(await openHub(flags, { env, ...watching }));
  const context = await prepareWalk(input, { hub: client, source, files: opened, ...watching });
  const selected = await selectTargets(input, { hub: client, namespace }, signal);
  const { missing } = selected;
  const sets = selected.targets.filter(isSetTarget);
  checkVantage(vantage, sets);
  const clusters = new Map(
    await mapLimited(sets, flags.concurrency, async (set) => {
      return [set, await troubledClusters(set, context, signal)] as const;
    }),
  );
  const targets = distinct([
    ...selected.targets,
    ...[...clusters.values()].flat().flatMap(({ component }) => component ?? []),
  ]);
  const progress = openProgress(flags.quiet ? undefined : stderr, flags);
  const walks = { targets, concurrency: flags.concurrency, onProgress: progress.update };
  const diagnoses = await walkFrom(vantage, { input, context, walks }, signal).finally(
    progress.end,
  );
  const whole = diagnoses.map((one) => {
    const set = sets.find((target) => target === one.target);
    return set === undefined ? one : withClusters(one, clusters.get(set) ?? [], diagnoses);
  });
  return diagnosisReport(whole, { missing, now: now() });
}

function checkVantage(vantage: Vantage, [set]: readonly Target[]): void {
  if (vantage === "local" || set === undefined) return;
  throw new UsageError("A set is walked from this machine alone", [
    "Walk to its installations: name them, or select them with -l knfleet.dev/set=NAME.",
  ]);
}

function distinct(targets: readonly Target[]): readonly Target[] {
  const byKey = new Map(
    targets.toReversed().map((one) => [[one.kind, one.namespace, one.name].join("/"), one]),
  );
  return [...byKey.values()].toReversed();
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
