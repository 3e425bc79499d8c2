import {
  type Bundle,
  checkFile,
  diagnosisFile,
  diffFile,
  logsFile,
  notCompared,
} from "../../bundle/bundle.ts";
import type { KnownSecrets } from "../../bundle/known-secrets.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import { messageOf, UsageError } from "../../errors.ts";
import { failureReason } from "../../failure.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { documentOf } from "../../main/print-report.ts";
import { countedReading, type OnProgress } from "../../output/progress.ts";

/** Flags of `gather` alone. */
export interface GatherFlags extends RenderingFlags {
  readonly dryRun?: boolean;
  readonly live?: boolean;
  readonly tail?: string;
  readonly diff?: boolean;
}

/** Documents of other commands, by file name, and why some of them are missing. */
export interface Documents {
  readonly documents: Readonly<Record<string, unknown>>;
  readonly errors: Bundle["errors"];
}

const noDocuments: Documents = { documents: {}, errors: [] };

interface DocumentDeps {
  readonly options: GatherFlags;
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
  fleet: Fleet,
  { options, onCredential, onProgress, isWhole }: DocumentDeps,
): Promise<Documents> {
  const { reachesSpokes: live } = fleet;
  const tail = readTail(options.tail ?? "500");
  const hasChecks = live && isWhole;
  const total = 1 + (live ? 2 : 0) + (hasChecks ? 1 : 0);
  const counted = countedReading(total, onProgress);
  const read = await Promise.all([
    live
      ? counted("walks", () =>
          readDocument("The walks were not made: ", () => gatherWalks(fleet, onCredential)),
        )
      : noDocuments,
    counted("logs", () => readDocument("The logs were not read: ", () => gatherLogs(fleet, tail))),
  ]);
  // Each of these sends many requests to every cluster, so they run one after the other.
  const checks = hasChecks
    ? await counted("checks", () =>
        readDocument("The checks were not made: ", () => gatherChecks(fleet, onCredential)),
      )
    : noDocuments;
  const diffs = live ? await counted("comparison", () => readDiffs(fleet, options)) : noDocuments;
  const found = [...read, checks, diffs];
  return {
    documents: Object.assign({}, ...found.map(({ documents }) => documents)),
    errors: found.flatMap(({ errors }) => errors),
  };
}

async function readDiffs(fleet: Fleet, options: GatherFlags): Promise<Documents> {
  // A bundle that is gathered again still says why it holds no diff.
  const errors = (fleet.flags.recorded?.errors ?? []).flatMap(({ reason, message }) =>
    message.startsWith(notCompared) ? [{ reason, message, cluster: null }] : [],
  );
  if (errors.length > 0) return { documents: {}, errors };
  return await readDocument(notCompared, () => gatherDiffs(fleet, options));
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
async function gatherLogs(fleet: Fleet, tail: number): Promise<Documents["documents"]> {
  const { flags, now, reachesSpokes: live } = fleet;
  if (tail === 0 || flags.recorded?.documents.has(logsFile) === false) return {};
  const { readLogs } = await import("../../fleet/read-logs.ts");
  const filter = { sinceTime: undefined, tail, container: undefined, maxStreams };
  return { [logsFile]: documentOf("LogList", await readLogs(fleet, filter, live), now()) };
}

async function gatherWalks(
  fleet: Fleet,
  onCredential: KnownSecrets["credential"],
): Promise<Documents["documents"]> {
  const { walkFleet } = await import("../../findings/walk-fleet.ts");
  const { recordedDiagnosis } = await import("../../bundle/recorded-diagnosis.ts");
  await using quiet = fleet.with({ flags: quietFlags(fleet) });
  const report =
    fleet.flags.recorded === undefined
      ? await walkFleet(quiet, {}, { onCredential })
      : await recordedDiagnosis(quiet, {});
  return { [diagnosisFile]: report };
}

async function gatherChecks(
  fleet: Fleet,
  onCredential: KnownSecrets["credential"],
): Promise<Documents["documents"]> {
  await using quiet = fleet.with({ flags: quietFlags(fleet) });
  const { recorded } = fleet.flags;
  if (recorded !== undefined) {
    if (!recorded.documents.has(checkFile)) return {};
    const { recordedCheck } = await import("../../bundle/recorded-check.ts");
    return { [checkFile]: await recordedCheck(quiet, {}) };
  }
  const { checkWholeFleet } = await import("../../findings/checks/check.ts");
  return { [checkFile]: await checkWholeFleet(quiet, { onCredential }) };
}

/** Compares the clusters when `--diff` asks for it; of a recorded fleet takes the comparison that its bundle has. */
async function gatherDiffs(
  fleet: Fleet,
  { diff: isWanted, manifestsFrom, manifestSource, spokeNamespace }: GatherFlags,
): Promise<Documents["documents"]> {
  const { flags, now, signal } = fleet;
  const { recorded } = flags;
  const isThere = recorded?.documents.has(diffFile) === true;
  if (!isThere && isWanted !== true) return {};
  const { asRecorded, recordedDiff } = await import("../../bundle/recorded-diff.ts");
  if (recorded !== undefined) return { [diffFile]: asRecorded(await recordedDiff(fleet)) };
  const { diff } = await import("../../compare/diff.ts");
  const { openRendering } = await import("../../compare/open-rendering.ts");
  const access = await fleet.access();
  const rendering = fleet.asInput({ manifestsFrom, manifestSource, spokeNamespace });
  await using settings = await openRendering(rendering, access, signal);
  const deps = { access, limits: fleet.limits(), settings, now };
  return { [diffFile]: asRecorded(await diff(await fleet.selection(), deps, signal)) };
}

/** The flags for another command without notes. */
function quietFlags({ flags }: Fleet): Flags {
  const { onNote: _, ...others } = flags;
  return { ...others, quiet: true };
}
