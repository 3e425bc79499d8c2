import { UsageError } from "../errors.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { hubSource } from "../hub/open-hub.ts";
import { openProgress } from "../output/progress.ts";
import { mapLimited } from "../spokes/read-clusters.ts";
import { diagnose, diagnosisReport } from "./diagnose.ts";
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

/** The walks of a command line. Throws the error of a hub that does not answer. */
export async function walkFleet(
  fleet: Fleet,
  options: DiagnoseFlags,
  observed: Pick<WalkContext, "onCredential"> = {},
): Promise<DiagnosisReport> {
  const { env, flags, now, signal } = fleet;
  const input = fleet.asInput(options);
  const vantage = options.from ?? "local";
  const { hub, namespace } = await fleet.access();
  await using files = new AsyncDisposableStack();
  const source = hubSource(flags, env);
  const context = await prepareWalk(input, { hub, source, files, ...observed });
  const selected = await selectTargets(input, { hub, namespace }, signal);
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
  const progress = openProgress(flags.quiet ? undefined : input.terminal.stderr, flags);
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
