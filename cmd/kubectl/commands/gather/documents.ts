import type { ActionInput } from "../../action.ts";
import {
  type Bundle,
  checkFile,
  diagnosisFile,
  diffFile,
  logsFile,
  notCompared,
} from "../../bundle/bundle.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import { messageOf, UsageError } from "../../errors.ts";
import { failureReason } from "../../failure.ts";
import { Fleet } from "../../fleet/fleet.ts";
import { documentOf } from "../../main/print-report.ts";
import { countedReading, type OnProgress } from "../../output/progress.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { ReadLimits } from "../../spokes/read-clusters.ts";
import type { KnownSecrets } from "./known-secrets.ts";

/** Flags of `gather` alone. */
export interface GatherFlags extends RenderingFlags {
  readonly dryRun?: boolean;
  readonly live?: boolean;
  readonly tail?: string;
  readonly diff?: boolean;
}

type GatherInput = ActionInput<GatherFlags>;

/** Documents of other commands, by file name, and why some of them are missing. */
export interface Documents {
  readonly documents: Readonly<Record<string, unknown>>;
  readonly errors: Bundle["errors"];
}

const noDocuments: Documents = { documents: {}, errors: [] };

interface LogDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  /** False: the hub alone. */
  readonly live: boolean;
  readonly now: () => Date;
}

interface DocumentDeps {
  readonly logs: LogDeps;
  readonly selection: Selection;
  readonly onCredential: KnownSecrets["credential"];
  /** Called when a document is begun and when it is made. */
  readonly onProgress: OnProgress;
  /** Whether the bundle is of the whole fleet. */
  readonly isWhole: boolean;
}

/**
 * Gathers the documents of `diagnose`, `logs` and `diff`, and that of `check` for a whole fleet. A document that cannot be made is in `errors`; the bundle
 * goes without it.
 */
export async function gatherDocuments(
  input: GatherInput,
  deps: DocumentDeps,
  signal: AbortSignal,
): Promise<Documents> {
  const { logs, selection, onCredential, onProgress, isWhole } = deps;
  const tail = readTail(input.options.tail ?? "500");
  const hasChecks = logs.live && isWhole;
  const total = 1 + (logs.live ? 2 : 0) + (hasChecks ? 1 : 0);
  const counted = countedReading(total, onProgress);
  const read = await Promise.all([
    logs.live
      ? counted("walks", () =>
          readDocument("The walks were not made: ", () => gatherWalks(input, onCredential, signal)),
        )
      : noDocuments,
    counted("logs", () =>
      readDocument("The logs were not read: ", () =>
        gatherLogs(input, { logs, selection, tail }, signal),
      ),
    ),
  ]);
  // Each of these sends many requests to every cluster, so they run one after the other.
  const checks = hasChecks
    ? await counted("checks", () =>
        readDocument("The checks were not made: ", () =>
          gatherChecks(input, { logs, onCredential }, signal),
        ),
      )
    : noDocuments;
  const diffs = logs.live
    ? await counted("comparison", () => readDiffs(input, { logs, selection }, signal))
    : noDocuments;
  const found = [...read, checks, diffs];
  return {
    documents: Object.assign({}, ...found.map(({ documents }) => documents)),
    errors: found.flatMap(({ errors }) => errors),
  };
}

async function readDiffs(
  input: GatherInput,
  deps: Pick<DocumentDeps, "logs" | "selection">,
  signal: AbortSignal,
): Promise<Documents> {
  // A bundle that is gathered again still says why it holds no diff.
  const errors = (input.flags.recorded?.errors ?? []).flatMap(({ reason, message }) =>
    message.startsWith(notCompared) ? [{ reason, message, cluster: null }] : [],
  );
  if (errors.length > 0) return { documents: {}, errors };
  return await readDocument(notCompared, () => gatherDiffs(input, deps, signal));
}

/** `what`: the beginning of the error. */
async function readDocument(
  what: string,
  made: () => Promise<Documents["documents"]>,
): Promise<Documents> {
  try {
    return { documents: await made(), errors: [] };
  } catch (error) {
    const message = `${what}${messageOf(error)}`;
    return { documents: {}, errors: [{ reason: failureReason(error), message, cluster: null }] };
  }
}

function readTail(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`Invalid value "${text}" for --tail: want a number, or 0 for no logs`);
}

// A fleet has thousands of containers. For the logs of all of them, a user gathers a bundle for each cluster.
const maxStreams = 200;

/** Reads the last log lines; of a recorded fleet those that its bundle has. */
async function gatherLogs(
  input: GatherInput,
  { logs, selection, tail }: Pick<DocumentDeps, "logs" | "selection"> & { readonly tail: number },
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  if (tail === 0 || input.flags.recorded?.documents.has(logsFile) === false) return {};
  const { readLogs } = await import("../logs/read-logs.ts");
  const { access, limits, live, now } = logs;
  const options = { reachesSpokes: live, selects: true, opened: { access, selection, limits } };
  await using fleet = new Fleet(input, options, signal);
  const filter = { sinceTime: undefined, tail, container: undefined, maxStreams };
  return { [logsFile]: documentOf("LogList", await readLogs(fleet, filter, live), now()) };
}

async function gatherWalks(
  input: GatherInput,
  onCredential: KnownSecrets["credential"],
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  const { walk } = await import("../diagnose/diagnose-report.ts");
  const { recordedDiagnosis } = await import("../../bundle/recorded-diagnosis.ts");
  const quiet = quietInput(input);
  const report =
    input.flags.recorded === undefined
      ? await walk(quiet, { onCredential }, signal)
      : await recordedDiagnosis(quiet, signal);
  return { [diagnosisFile]: report };
}

async function gatherChecks(
  input: GatherInput,
  { logs: { access, limits }, onCredential }: Pick<DocumentDeps, "logs" | "onCredential">,
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  const quiet = quietInput(input);
  const { recorded } = input.flags;
  if (recorded !== undefined) {
    if (!recorded.documents.has(checkFile)) return {};
    const { recordedCheck } = await import("../../bundle/recorded-check.ts");
    return { [checkFile]: await recordedCheck(quiet, signal) };
  }
  const { checkWholeFleet } = await import("../check/check.ts");
  return { [checkFile]: await checkWholeFleet(quiet, { access, limits, onCredential }, signal) };
}

/** Compares the clusters when `--diff` asks for it; of a recorded fleet takes the comparison that its bundle has. */
async function gatherDiffs(
  input: GatherInput,
  { logs: { access, limits, now }, selection }: Pick<DocumentDeps, "logs" | "selection">,
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  const { recorded } = input.flags;
  const isThere = recorded?.documents.has(diffFile) === true;
  if (!isThere && input.options.diff !== true) return {};
  const { asRecorded, recordedDiff } = await import("../../bundle/recorded-diff.ts");
  if (recorded !== undefined) {
    return { [diffFile]: asRecorded(await recordedDiff(quietInput(input), signal)) };
  }
  const { diff } = await import("../diff/diff.ts");
  const { openRendering } = await import("../../compare/open-rendering.ts");
  const { manifestsFrom, manifestSource, spokeNamespace } = input.options;
  const named = { manifestsFrom, manifestSource, spokeNamespace };
  const rendering = { ...input, options: named };
  await using settings = await openRendering(rendering, access, signal);
  const deps = { access, limits, settings, now };
  return { [diffFile]: asRecorded(await diff(selection, deps, signal)) };
}

/** The command line for another command: without the options of `gather`, and without notes. */
function quietInput(input: GatherInput) {
  const { onNote: _, ...flags } = input.flags;
  return { ...input, options: {}, flags: { ...flags, quiet: true } };
}
