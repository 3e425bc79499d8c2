import { limitsOf, print, selectionOf, type ActionInput } from "../action.ts";
import { diagnosisFile, logsFile, type Bundle, type RecordedCluster } from "../bundle/bundle.ts";
import { recordedFleet } from "../bundle/read-bundle.ts";
import { recordedAccess } from "../bundle/recorded-access.ts";
import type { ArchiveFile } from "../bundle/tar.ts";
import { clientVersion } from "../client-version.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { failureReason } from "../failure.ts";
import type { LogDeps } from "../logs/read-logs.ts";
import { messageOf } from "../message-of.ts";
import { openClusterAccess } from "../open-cluster-access.ts";
import { openProgress } from "../print/progress.ts";
import { statusHtml } from "../print/status-html.ts";
import { allKinds, type Selection } from "../selection.ts";
import { status } from "../status.ts";
import { UsageError } from "../usage-error.ts";
import { bundleOf } from "./bundle-files.ts";
import { bundleNotes, bundleTable } from "./gather-text.ts";
import { gather, namesIn, withRows } from "./gather.ts";
import { KnownSecrets } from "./known-secrets.ts";
import { Redactor } from "./redact.ts";
import { SecretPrints } from "./secret-prints.ts";
import { checkFiles, writeBundle } from "./write-bundle.ts";

/** Flags of `gather` alone. */
export interface GatherFlags {
  readonly dryRun?: boolean;
  readonly live?: boolean;
  readonly tail?: string;
  /** Value of `-o` that is no format. */
  readonly file?: string;
}

type Input = ActionInput<GatherFlags>;

// A whole fleet is read, and much of every cluster. One that does not answer at all is given up as soon as elsewhere.
const defaultTimeoutMs = 10 * 60_000;
const defaultSpokeTimeoutMs = 60_000;

/** `kubectl knfleet gather`. */
export async function runGather(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const known = new KnownSecrets();
  const { clusters, namespace, walks } = await collected(input, known, signal);
  // In a bundle they are printed already.
  const printed = flags.recorded === undefined ? withPrints(clusters, known) : clusters;
  for (const name of namesIn(printed)) known.name(name);
  const secrets = known.finder();
  const now = terminal.now();
  const { files, bundle } = bundleOf(
    { clusters: printed, namespace, documents: walks.documents, now, cliVersion: clientVersion },
    new Redactor(secrets),
  );
  const all = [...files, await pageOf(files, signal)];
  checkFiles(all, secrets);
  const path = options.file ?? `knfleet-${now.toISOString().replaceAll(/[-:]|\.\d+/g, "")}.tgz`;
  const isWritten = options.dryRun !== true;
  const bytes = isWritten ? await writeBundle(path, all, now) : bundle.summary.bytes;
  const report = {
    ...bundle,
    complete: bundle.complete && walks.errors.length === 0,
    summary: { ...bundle.summary, file: isWritten ? path : null, bytes },
    errors: [...bundle.errors, ...walks.errors],
  };
  await print(
    {
      document: report,
      table: (wide) => bundleTable(report, wide || !isWritten),
      names: isWritten ? [path] : report.summary.files.map((file) => file.path),
      notes: bundleNotes(report),
    },
    flags,
    terminal,
  );
  return report.complete ? exitCodes.fine : exitCodes.incomplete;
}

/** The page for a browser: what `status -o html --bundle` prints of these files. */
async function pageOf(files: readonly ArchiveFile[], signal: AbortSignal): Promise<ArchiveFile> {
  const fleet = recordedFleet("the bundle", files);
  const limits = { concurrency: 16, spokeTimeoutMs: defaultSpokeTimeoutMs };
  const report = await status(
    { selection: { kinds: allKinds, names: [] }, live: true, limits },
    { access: recordedAccess(fleet), now: () => fleet.recordedAt, cliVersion: clientVersion },
    signal,
  );
  return { path: "index.html", text: statusHtml(report) };
}

/** The clusters with what may be told of their Secrets; their values are known from now on. */
function withPrints(
  clusters: readonly RecordedCluster[],
  known: KnownSecrets,
): readonly RecordedCluster[] {
  const prints = new SecretPrints(known);
  return withRows(clusters, (row, { kind }) =>
    kind.kind === "Secret" && kind.group === "" ? prints.print(row) : row,
  );
}

interface Collected {
  readonly clusters: readonly RecordedCluster[];
  readonly namespace: string;
  readonly walks: Walks;
}

async function collected(
  input: Input,
  known: KnownSecrets,
  signal: AbortSignal,
): Promise<Collected> {
  const { args, flags, options, terminal } = input;
  const { env, stderr } = terminal;
  const spokes = options.live ?? true;
  const tail = flags.recorded === undefined ? tailOf(options.tail ?? "500") : 0;
  const onCredential = known.credential.bind(known);
  const timeoutMs = flags.timeoutGiven ? flags.timeoutMs : defaultTimeoutMs;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  await using access = await openClusterAccess(flags, { env, spokes, onCredential }, deadline);
  const selection = selectionOf(args, flags, access);
  const progress = openProgress(flags.quiet ? undefined : stderr);
  const spokeTimeoutMs = flags.spokeTimeoutGiven ? flags.spokeTimeoutMs : defaultSpokeTimeoutMs;
  const limits = { ...limitsOf(flags, progress.update), spokeTimeoutMs };
  const { now } = terminal;
  const [clusters, walks, logs] = await Promise.all([
    gather({ access, selection, limits }, deadline),
    spokes ? walksOf(input, onCredential, deadline) : nothing,
    logsOf(
      { access, limits, live: spokes, now, cliVersion: clientVersion },
      { tail, selection },
      deadline,
    ),
  ]).finally(progress.end);
  const documents = { ...walks.documents, ...logs.documents };
  const errors = [...walks.errors, ...logs.errors];
  return { clusters, namespace: access.namespace, walks: { documents, errors } };
}

interface Walks {
  readonly documents: Readonly<Record<string, unknown>>;
  readonly errors: Bundle["errors"];
}

const nothing: Walks = { documents: {}, errors: [] };

function tailOf(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`Invalid value "${text}" for --tail: want a number, or 0 for no logs`);
}

// A fleet has thousands of containers; who needs the logs of all gathers them cluster by cluster.
const maxStreams = 200;

/** The last lines of the containers' logs, with what could not be read of them; a bundle without them is a bundle. */
async function logsOf(
  deps: LogDeps,
  { tail, selection }: { readonly tail: number; readonly selection: Selection },
  signal: AbortSignal,
): Promise<Walks> {
  if (tail === 0) return nothing;
  const { readLogs } = await import("../logs/read-logs.ts");
  const filter = { sinceTime: undefined, tail, container: undefined, maxStreams };
  try {
    const list = await readLogs({ selection, filter }, deps, signal);
    return { documents: { [logsFile]: list }, errors: [] };
  } catch (error) {
    const message = `The logs were not read: ${messageOf(error)}`;
    return { documents: {}, errors: [{ reason: failureReason(error), message, cluster: null }] };
  }
}

/** The walks to all of the installations; a bundle without them is a bundle. */
async function walksOf(
  input: Input,
  onCredential: KnownSecrets["credential"],
  signal: AbortSignal,
): Promise<Walks> {
  const { walk } = await import("../diagnose/diagnose-action.ts");
  const { recordedDiagnosis } = await import("../bundle/recorded-diagnosis.ts");
  const quiet = { ...input, options: {}, flags: { ...input.flags, quiet: true } };
  try {
    const report =
      input.flags.recorded === undefined
        ? await walk(quiet, { onCredential }, signal)
        : await recordedDiagnosis(quiet, signal);
    return { documents: { [diagnosisFile]: report }, errors: [] };
  } catch (error) {
    const message = `The walks were not made: ${messageOf(error)}`;
    return { documents: {}, errors: [{ reason: failureReason(error), message, cluster: null }] };
  }
}
