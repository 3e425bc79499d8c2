import type { ActionInput } from "../../action.ts";
import { type Bundle, checkFile, diagnosisFile, diffFile, logsFile } from "../../bundle/bundle.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import { messageOf, UsageError } from "../../errors.ts";
import { failureReason } from "../../failure.ts";
import type { Selection } from "../../selection/selection.ts";
import type { LogDeps } from "../logs/read-logs.ts";
import type { KnownSecrets } from "./known-secrets.ts";

/** Flags of `gather` alone. */
interface GatherFlags extends RenderingFlags {
  readonly dryRun?: boolean;
  readonly live?: boolean;
  readonly tail?: string;
  readonly diff?: boolean;
  /** Value of `-o` that is no format. */
  readonly file?: string;
}

export type GatherInput = ActionInput<GatherFlags>;

/** What other commands print, by file name, and why some of it is missing. */
export interface Documents {
  readonly documents: Readonly<Record<string, unknown>>;
  readonly errors: Bundle["errors"];
}

const nothing: Documents = { documents: {}, errors: [] };

interface DocumentDeps {
  readonly logs: LogDeps;
  readonly selection: Selection;
  readonly onCredential: KnownSecrets["credential"];
  /** Whether the bundle is of the whole fleet. */
  readonly isWhole: boolean;
}

/** The walks to all of the installations, the last log lines, and of a whole fleet the checks; a bundle without them is a bundle. */
export async function documentsOf(
  input: GatherInput,
  deps: DocumentDeps,
  signal: AbortSignal,
): Promise<Documents> {
  const { logs, selection, onCredential, isWhole } = deps;
  const tail = tailOf(input.options.tail ?? "500");
  const read = await Promise.all([
    logs.live
      ? orNone("The walks were not made", () => walksOf(input, onCredential, signal))
      : nothing,
    orNone("The logs were not read", () => logsOf(input, { logs, selection, tail }, signal)),
  ]);
  // Each asks every cluster for a lot; none should have to answer all of it at once.
  const checks =
    logs.live && isWhole
      ? await orNone("The checks were not made", () =>
          checksOf(input, { logs, onCredential }, signal),
        )
      : nothing;
  const diffs = logs.live
    ? await orNone("The clusters were not compared", () =>
        diffsOf(input, { logs, selection }, signal),
      )
    : nothing;
  const found = [...read, checks, diffs];
  return {
    documents: Object.assign({}, ...found.map(({ documents }) => documents)),
    errors: found.flatMap(({ errors }) => errors),
  };
}

async function orNone(
  what: string,
  made: () => Promise<Documents["documents"]>,
): Promise<Documents> {
  try {
    return { documents: await made(), errors: [] };
  } catch (error) {
    const message = `${what}: ${messageOf(error)}`;
    return { documents: {}, errors: [{ reason: failureReason(error), message, cluster: null }] };
  }
}

function tailOf(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`Invalid value "${text}" for --tail: want a number, or 0 for no logs`);
}

// A fleet has thousands of containers; who needs the logs of all gathers them cluster by cluster.
const maxStreams = 200;

/** Of a bundle that is made of another one: those that it has. */
async function logsOf(
  { flags: { recorded } }: GatherInput,
  { logs, selection, tail }: Pick<DocumentDeps, "logs" | "selection"> & { readonly tail: number },
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  if (tail === 0) return {};
  if (recorded !== undefined) {
    const { hasLogs } = await import("../../bundle/recorded-logs.ts");
    if (!hasLogs(recorded)) return {};
  }
  const { readLogs } = await import("../logs/read-logs.ts");
  const filter = { sinceTime: undefined, tail, container: undefined, maxStreams };
  return { [logsFile]: await readLogs({ selection, filter }, logs, signal) };
}

async function walksOf(
  input: GatherInput,
  onCredential: KnownSecrets["credential"],
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  const { walk } = await import("../diagnose/diagnose-action.ts");
  const { recordedDiagnosis } = await import("../../bundle/recorded-diagnosis.ts");
  const quiet = quietly(input);
  const report =
    input.flags.recorded === undefined
      ? await walk(quiet, { onCredential }, signal)
      : await recordedDiagnosis(quiet, signal);
  return { [diagnosisFile]: report };
}

async function checksOf(
  input: GatherInput,
  { logs: { access, limits }, onCredential }: Pick<DocumentDeps, "logs" | "onCredential">,
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  const quiet = quietly(input);
  const { recorded } = input.flags;
  if (recorded !== undefined) {
    if (!recorded.documents.has(checkFile)) return {};
    const { recordedCheck } = await import("../../bundle/recorded-check.ts");
    return { [checkFile]: await recordedCheck(quiet, signal) };
  }
  const { fleetCheck } = await import("../check/check.ts");
  return { [checkFile]: await fleetCheck(quiet, { access, limits, onCredential }, signal) };
}

/** When it was asked for; of a bundle that is made of another one what that has. */
async function diffsOf(
  input: GatherInput,
  { logs: { access, limits, now }, selection }: Pick<DocumentDeps, "logs" | "selection">,
  signal: AbortSignal,
): Promise<Documents["documents"]> {
  const { recorded } = input.flags;
  if (recorded === undefined && input.options.diff !== true) return {};
  if (recorded !== undefined && !recorded.documents.has(diffFile)) return {};
  const { asRecorded, recordedDiff } = await import("../../bundle/recorded-diff.ts");
  if (recorded !== undefined) {
    return { [diffFile]: asRecorded(await recordedDiff(quietly(input), signal)) };
  }
  const { diff } = await import("../diff/diff.ts");
  const { openRendering } = await import("../../compare/open-rendering.ts");
  const { releaseDir, manifestsFrom, manifestSource, spokeNamespace } = input.options;
  const named = { releaseDir, manifestsFrom, manifestSource, spokeNamespace };
  const rendering = { ...input, options: named };
  await using settings = await openRendering(rendering, access, signal);
  const deps = { access, limits, settings, now };
  return { [diffFile]: asRecorded(await diff(selection, deps, signal)) };
}

/** The same command line for another command: without the flags of this one, and without its notes. */
function quietly(input: GatherInput) {
  const { onNote: _, ...flags } = input.flags;
  return { ...input, options: {}, flags: { ...flags, quiet: true } };
}
