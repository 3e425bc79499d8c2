import { readdir, readFile, stat } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import { answerLimits } from "../../../access/answer-limits.ts";
import { JsonShape } from "../../../access/json.ts";
import { pause } from "../../../access/time/clock.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { jsonOf } from "../../../api/fields.ts";
import { messageOf, UsageError } from "../errors.ts";
import { stringAt } from "../selection/fields.ts";
import { indexOf } from "./bundle-index.ts";
import {
  type BundledCluster,
  checkFile,
  diagnosisFile,
  diffFile,
  indexFile,
  logsFile,
  type RecordedCluster,
  type RecordedFleet,
} from "./bundle.ts";
import { notWritten } from "./document-check.ts";
import { tableChecker } from "./table-check.ts";
import { type ArchiveFile, unpackTar } from "./tar.ts";

// A bundle comes from somebody else: a small archive must not fill the memory.
const maxBytes = 512 * 1024 * 1024;

/** Reads a bundle of `gather`: a tar.gz, or the folder with its files. Throws UsageError, also when the time is over; the reason of the signal when the user interrupts. */
export async function readBundle(path: string, signal: AbortSignal): Promise<RecordedFleet> {
  try {
    const files = await readFilesAt(path, signal);
    const fleet = recordedFleet(path, files);
    await checkTime(signal);
    return fleet;
  } catch (error) {
    // A read of a file has an AbortError of its own.
    if (isTimeout(signal.aborted ? signal.reason : error)) {
      throw new UsageError(`The bundle ${path} was not read in time`, [
        "Give it more time with --timeout.",
      ]);
    }
    signal.throwIfAborted();
    if (error instanceof UsageError) throw error;
    throw new UsageError(`The bundle ${path} cannot be read: ${messageOf(error)}`, again);
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

/** Throws when the time is over. No timer ends while a bundle is unpacked or parsed, so an end of the time is heard here. */
async function checkTime(signal: AbortSignal): Promise<void> {
  await pause(systemClock, 1, signal);
  signal.throwIfAborted();
}

/** Parses the files of a bundle. `path`: its name in messages. Throws UsageError for files of something else, and for a file that is not what gather writes. */
export function recordedFleet(path: string, files: readonly ArchiveFile[]): RecordedFleet {
  const found = files.find((file) => posix.basename(file.path) === indexFile);
  const root = found === undefined ? "" : posix.dirname(found.path);
  const texts = new Map(files.map((file) => [posix.relative(root, file.path), file.text]));
  const documents = new Map(
    documentFiles.flatMap((file) => {
      const text = texts.get(file);
      return text === undefined ? [] : [[file, parseDocument(text, { path, file })] as const];
    }),
  );
  if (stringAt(documents.get(indexFile), "kind") !== "Bundle") throw noBundle(path);
  const index = indexOf({ path, documents });
  const recordedAt = new Date(index.generatedAt);
  if (Number.isNaN(recordedAt.getTime())) {
    throw wrongFile({ path, file: indexFile }, "/generatedAt must be a time");
  }
  const byFolder = Map.groupBy(texts, ([name]) => posix.dirname(name));
  const check = tableChecker();
  const clusters = index.items.map((item) => clusterOf(item, { path, byFolder, check }));
  const [hub, ...spokes] = clusters;
  if (hub === undefined) throw noBundle(path);
  return {
    path,
    recordedAt,
    namespace: index.summary.namespace,
    isWhole: index.summary.whole ?? false,
    hub,
    spokes,
    errors: index.errors ?? [],
    documents,
  };
}

type FilesByFolder = ReadonlyMap<string, readonly (readonly [path: string, text: string])[]>;

const again = ["kubectl knfleet gather -o fleet.tgz"];
const documentFiles = [indexFile, diagnosisFile, logsFile, checkFile, diffFile];

// As deep as an answer of an API server may be.
const limits = { depth: answerLimits.list.depth, values: Number.POSITIVE_INFINITY };

interface BundleFile {
  /** Path of the bundle. */
  readonly path: string;
  readonly file: string;
}

async function readFilesAt(path: string, signal: AbortSignal): Promise<readonly ArchiveFile[]> {
  if ((await stat(path)).isDirectory()) return abortable(readFilesBelow(path), signal);
  const packed = await readFile(path, { signal });
  const unzipping = promisify(gunzip)(packed, { maxOutputLength: maxBytes });
  const files = await unpackTar(await abortable(unzipping, signal));
  await checkTime(signal);
  return files;
}

async function readFilesBelow(folder: string): Promise<readonly ArchiveFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const sizes = await Promise.all(names.map(async (name) => (await stat(name)).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > maxBytes) throw new Error(`its files have ${bytes} bytes, and ${maxBytes} may be`);
  return Promise.all(
    names.map(async (name) => ({
      path: relative(folder, name).split(sep).join("/"),
      text: await readFile(name, "utf8"),
    })),
  );
}

function parseDocument(text: string, { path, file }: BundleFile): unknown {
  if (new JsonShape(limits).take(Buffer.from(text)) === "depth") {
    throw wrongFile({ path, file }, `it has more than ${limits.depth} levels`);
  }
  const document = jsonOf(text);
  if (document === undefined) throw wrongFile({ path, file }, "it is no JSON");
  return document;
}

function noBundle(path: string): UsageError {
  return new UsageError(`${path} is no bundle of kubectl knfleet gather`, again);
}

function wrongFile({ path, file }: BundleFile, wrong: string): UsageError {
  return new UsageError(`${file} of the bundle ${path} ${notWritten(wrong)}`, again);
}

interface ClusterDeps {
  readonly path: string;
  readonly byFolder: FilesByFolder;
  readonly check: ReturnType<typeof tableChecker>;
}

function clusterOf(item: BundledCluster, { path, byFolder, check }: ClusterDeps): RecordedCluster {
  const tables = (byFolder.get(item.folder) ?? []).map(([file, text]) => {
    const checked = check(parseDocument(text, { path, file }));
    if ("table" in checked) return checked.table;
    throw wrongFile({ path, file }, checked.wrong);
  });
  return { ...item, tables };
}
