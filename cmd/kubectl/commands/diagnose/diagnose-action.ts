import { PluginLimits } from "../../../../access/plugins/plugin-limits.ts";
import { type ActionInput, print } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import type { ExitCode } from "../../errors.ts";
import { oneOf } from "../../flags.ts";
import { parseDurationMs } from "../../output/duration.ts";
import { openProgress } from "../../output/progress.ts";
import { commandsOf, withHubSteps } from "../../output/steps.ts";
import { diagnose, diagnosisExitCode, diagnosisReport } from "./diagnose.ts";
import { diagnosisRendering } from "./diagnosis-text.ts";
import { type DiagnoseFlags, type Diagnosis, type DiagnosisReport, vantages } from "./diagnosis.ts";
import { openVantage, type OpenVantage } from "./open-vantage.ts";
import { askedTargets, type FoundTargets } from "./targets.ts";
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
  await print(diagnosisRendering(shown, { flags, terminal }), flags, terminal);
  return diagnosisExitCode(report, failOn);
}

/** The walks of a command line. Throws the error of a hub that does not answer. */
export async function walk(
  input: Input,
  watching: Pick<WalkContext, "onCredential">,
  signal: AbortSignal,
): Promise<DiagnosisReport> {
  const { flags, options, terminal } = input;
  const from = oneOf(options.from ?? "local", vantages, "--from");
  const { env, now, stderr } = terminal;
  await using here = await openVantage(flags, { env, ...watching });
  const { hub, namespace } = here;
  const found = await askedTargets(input, { hub, namespace }, signal);
  const progress = openProgress(flags.quiet ? undefined : stderr, flags);
  const onProgress = progress.update;
  const diagnoses = await walksFrom(
    from,
    { input, here, found, onProgress, watching },
    signal,
  ).finally(progress.end);
  const { missing } = found;
  return diagnosisReport(diagnoses, { missing, now: now(), cliVersion: clientVersion });
}

interface Walking {
  readonly input: Input;
  readonly here: OpenVantage;
  readonly found: FoundTargets;
  readonly onProgress: (done: number, total: number) => void;
  readonly watching: Pick<WalkContext, "onCredential">;
}

async function walksFrom(
  vantage: Diagnosis["vantage"],
  { input, here, found: { targets }, onProgress, watching }: Walking,
  signal: AbortSignal,
): Promise<readonly Diagnosis[]> {
  const { concurrency } = input.flags;
  const context = { ...contextOf(input, here), ...watching };
  const options = { targets, concurrency, onProgress };
  const local = await diagnose({ ...options, vantage: "local" }, context, signal);
  if (vantage === "local") return local;
  const { walkElsewhere } = await import("./walk-elsewhere.ts");
  return walkElsewhere(vantage, { input, here, context, local, options, contextOf }, signal);
}

/** Settings of a walk from the command line. */
export function contextOf(
  {
    flags,
    options,
    terminal,
  }: ActionInput<Pick<DiagnoseFlags, "exec" | "execTimeout" | "releaseDir">>,
  vantage: OpenVantage,
): WalkContext {
  const text = options.execTimeout;
  return {
    hub: vantage.hub,
    environment: vantage.environment,
    now: terminal.now,
    hubTimeoutMs: flags.hub.requestTimeoutMs,
    ...(flags.onRequest === undefined ? {} : { onRequest: flags.onRequest }),
    hopTimeoutMs: flags.spokeTimeoutMs,
    userAgent: vantage.userAgent,
    providerFile: flags.providerFile,
    ...(flags.pluginNamespace === undefined ? {} : { pluginNamespace: flags.pluginNamespace }),
    pluginRoots: flags.pluginRoots,
    exec: options.exec === true,
    plugins: new PluginLimits(),
    execTimeoutMs: text === undefined ? 10_000 : parseDurationMs(text, "--exec-timeout"),
    rendering: async () => {
      const { renderingOf } = await import("./hops/refused-object.ts");
      return renderingOf(options.releaseDir, terminal.env);
    },
  };
}
