import { tmpdir } from "node:os";
import { join, posix } from "node:path";

import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { allKinds } from "../../../../api/component.ts";
import { isReason, reasons } from "../../../../api/reasons.ts";
import { openReading } from "../../action.ts";
import { type Bundle, notCompared, type RecordedCluster } from "../../bundle/bundle.ts";
import { KnownSecrets, SecretDigests } from "../../bundle/known-secrets.ts";
import { recordedFleet } from "../../bundle/read-bundle.ts";
import { recordedAccess } from "../../bundle/recorded-client.ts";
import type { ArchiveFile } from "../../bundle/tar.ts";
import { bundleOf, checkFiles, Redactor, writeBundle } from "../../bundle/write-bundle.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { status } from "../../fleet/status.ts";
import { MalformedObjects } from "../../hub/malformed-objects.ts";
import type { Report } from "../../main/report.ts";
import { unreadNotes } from "../../output/notes.ts";
import { sharedProgress } from "../../output/progress.ts";
import { notFoundErrors } from "../../output/report.ts";
import { stepLine, words } from "../../output/steps.ts";
import { orNone, type Table } from "../../output/table.ts";
import { statusHtml } from "../../page/status-html.ts";
import { type Documents, gatherDocuments, type GatherFlags } from "./documents.ts";
import { gather, isWholeFleet, objectNames, mapRows } from "./gather.ts";

// The command reads much of every cluster, so it has more time than others.
const defaultTimeoutMs = 10 * 60_000;
const defaultSpokeTimeoutMs = 60_000;

/** Reads the selected part of the fleet, and writes the bundle. Throws UsageError. */
export async function gatherBundle(
  fleet: Fleet,
  options: GatherFlags,
): Promise<Report<Bundle["items"][number]>> {
  const { env, flags, signal } = fleet;
  if (options.diff === true && options.live === false) {
    throw new UsageError("--diff compares clusters, and --no-live reaches none", [
      "Leave one of the two out.",
    ]);
  }
  const known = new KnownSecrets();
  const { clusters, isWhole, missing, namespace, rest } = await collect(fleet, options, known);
  // A bundle has digests in place of values already.
  const digested = flags.recorded === undefined ? digestSecrets(clusters, known) : clusters;
  for (const name of objectNames(digested)) known.name(name);
  const secrets = known.finder();
  const now = fleet.now();
  const { files, bundle } = bundleOf(
    { clusters: digested, isWhole, namespace, ...rest, now },
    new Redactor(secrets),
  );
  const all = [...files, await renderPage(files, signal)];
  checkFiles(all, secrets);
  const name = `knfleet-${now.toISOString().replaceAll(/[-:]|\.\d+/g, "")}.tgz`;
  const path = flags.outputFile ?? join(env["TMPDIR"] ?? tmpdir(), name);
  const isWritten = options.dryRun !== true;
  const bytes = isWritten ? await writeBundle(path, all, now) : bundle.summary.bytes;
  const summary = { ...bundle.summary, file: isWritten ? path : null, bytes };
  const errors = [...notFoundErrors(missing), ...bundle.errors];
  const { items, complete, cliVersion } = bundle;
  const names = isWritten ? [path] : summary.files.map((file) => file.path);
  return {
    items,
    summary,
    errors,
    complete,
    cliVersion,
    tables: ({ isWide }, rows) => [
      isWide || !isWritten ? filesTable(rows, summary) : clustersTable(rows, summary),
    ],
    // The names are those of files, and not of clusters.
    name: (item) => (item === items[0] ? names : undefined),
    notes: () => bundleNotes(summary, errors),
    tellsErrors: true,
    exitCode: exitCodeOf(missing, complete),
  };
}

function exitCodeOf(missing: readonly string[], complete: boolean): ExitCode {
  if (missing.length > 0) return exitCodes.unhealthy;
  return complete ? exitCodes.fine : exitCodes.incomplete;
}

/** The page for a browser, as `status -o html --bundle` prints it for these files. */
async function renderPage(
  files: readonly ArchiveFile[],
  signal: AbortSignal,
): Promise<ArchiveFile> {
  const fleet = recordedFleet("the bundle", files);
  const limits = { concurrency: 16, spokeTimeoutMs: defaultSpokeTimeoutMs };
  const replicas = { timeMs: fleet.recordedAt.getTime(), isRecorded: true };
  const report = await status(
    { selection: { kinds: allKinds, names: [] }, sets: "all", live: true, limits, replicas },
    // What has not the form of its kind is named by the index already.
    {
      access: recordedAccess(fleet, { malformed: new MalformedObjects() }),
      now: () => fleet.recordedAt,
    },
    signal,
  );
  const { recordedAt } = fleet;
  return {
    path: "index.html",
    text: statusHtml(report, { recordedAt, kubectl: "kubectl", knfleet: "kubectl knfleet" }),
  };
}

/** The clusters with digests in place of the values of Secrets. The values become known secrets. */
function digestSecrets(
  clusters: readonly RecordedCluster[],
  known: KnownSecrets,
): readonly RecordedCluster[] {
  const digests = new SecretDigests(known);
  return mapRows(clusters, (row, { kind }) =>
    kind.kind === "Secret" && kind.group === "" ? digests.digest(row) : row,
  );
}

interface Collected {
  readonly clusters: readonly RecordedCluster[];
  readonly isWhole: boolean;
  readonly missing: readonly string[];
  readonly namespace: string;
  readonly rest: Documents;
}

async function collect(
  given: Fleet,
  options: GatherFlags,
  known: KnownSecrets,
): Promise<Collected> {
  const { flags } = given;
  const timeoutMs = flags.timeoutGiven ? flags.timeoutMs : defaultTimeoutMs;
  const signal = withTimeout(systemClock, timeoutMs, given.signal);
  const onCredential = known.credential.bind(known);
  await using fleet = given.with({ signal, onCredential });
  const [access, selection] = [await fleet.access(), await fleet.selection()];
  const isWhole = isWholeFleet(selection) && flags.recorded?.isWhole !== false;
  const reading = openReading(flags, fleet.asInput({}).terminal, "parts");
  const [ofClusters, ofDocuments] = sharedProgress(reading.limits.onProgress);
  const spokeTimeoutMs = flags.spokeTimeoutGiven ? flags.spokeTimeoutMs : defaultSpokeTimeoutMs;
  const limits = { ...reading.limits, spokeTimeoutMs, onProgress: undefined };
  await using opened = fleet.with({ opened: { access, selection, limits } });
  const documents = { options, onCredential, onProgress: ofDocuments, isWhole };
  const [gathered, rest] = await Promise.all([
    gather({ access, selection, limits: { ...limits, onProgress: ofClusters } }, signal),
    gatherDocuments(opened, documents),
  ]).finally(reading.end);
  return {
    clusters: gathered.clusters,
    isWhole: isWhole && gathered.isWhole,
    missing: gathered.missing,
    namespace: access.namespace,
    rest: {
      ...rest,
      errors: [...gathered.errors, ...(flags.malformed?.errors ?? []), ...rest.errors],
    },
  };
}

function clustersTable(items: Bundle["items"], { files }: Bundle["summary"]): Table {
  return {
    headers: ["CLUSTER", "KUBERNETES", "FILES", "OBJECTS", "REASON"],
    rows: items.map(({ cluster, folder, kubernetesVersion, objects, unread }) => [
      cluster ?? "<hub>",
      orNone(kubernetesVersion),
      String(files.filter(({ path }) => posix.dirname(path) === folder).length),
      String(objects),
      unread === null ? "<none>" : { text: unread.reason, tone: "bad" },
    ]),
  };
}

function filesTable(items: Bundle["items"], { files }: Bundle["summary"]): Table {
  return {
    headers: ["CLUSTER", "FILE", "BYTES"],
    rows: files.map(({ path, bytes }) => {
      const own = items.find(({ folder }) => posix.dirname(path) === folder);
      return [own === undefined ? "<none>" : (own.cluster ?? "<hub>"), path, String(bytes)];
    }),
  };
}

/** Lines below the table: where the bundle is, and what is missing in it. */
function bundleNotes(
  { file, bytes, clusters, unread }: Bundle["summary"],
  errors: Bundle["errors"],
): readonly string[] {
  return [
    ...unreadNotes(errors, { unread, clusters }),
    ...remedies(errors),
    ...(file === null
      ? ["Nothing was written (--dry-run)."]
      : [
          `Written: ${file}, ${Math.ceil(bytes / 1_024)} KiB, for your eyes only. No credential of this run is in it.`,
          stepLine(words("kubectl", "knfleet", "status", "-A", "--bundle", file)),
        ]),
  ];
}

/** The next steps where clusters could not be compared. */
function remedies(errors: Bundle["errors"]): readonly string[] {
  return errors
    .filter(({ message }) => message.startsWith(notCompared))
    .flatMap(({ reason }) => (isReason(reason) ? [stepLine(reasons[reason].next)] : []));
}
