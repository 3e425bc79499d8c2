import { readdir, readFile, stat } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import { pause } from "../../../access/time/clock.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { areRecords, isRecord, jsonOf } from "../../../api/fields.ts";
import { messageOf, UsageError } from "../errors.ts";
import { reportApiVersion } from "../output/report.ts";
import { itemsAt, stringAt } from "../selection/fields.ts";
import {
  type Bundle,
  type BundledCluster,
  checkFile,
  diagnosisFile,
  diffFile,
  indexFile,
  logsFile,
  type RecordedCluster,
  type RecordedFleet,
  type RecordedTable,
} from "./bundle.ts";
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

/** Parses the files of a bundle. `path`: its name in messages. Throws UsageError for files of something else. */
export function recordedFleet(path: string, files: readonly ArchiveFile[]): RecordedFleet {
  const index = files.find((file) => posix.basename(file.path) === indexFile);
  const root = index === undefined ? "" : posix.dirname(index.path);
  const texts = new Map(files.map((file) => [posix.relative(root, file.path), file.text]));
  const bundle = parseDocument(path, texts.get(indexFile));
  if (!isBundle(bundle)) throw noBundle(path);
  const byFolder = Map.groupBy(texts, ([name]) => posix.dirname(name));
  const clusters = bundle.items.map((item) => clusterOf(item, { path, byFolder }));
  const [hub, ...spokes] = clusters;
  if (hub === undefined) throw noBundle(path);
  return {
    path,
    recordedAt: new Date(bundle.generatedAt),
    namespace: bundle.summary.namespace,
    isWhole: bundle.summary.whole ?? false,
    hub,
    spokes,
    errors: itemsAt(bundle, "errors").filter(isError),
    documents: new Map(
      documentFiles.flatMap((file) =>
        texts.has(file) ? [[file, parseDocument(path, texts.get(file))] as const] : [],
      ),
    ),
  };
}

type FilesByFolder = ReadonlyMap<string, readonly (readonly [path: string, text: string])[]>;

const again = ["kubectl knfleet gather -o fleet.tgz"];
const documentFiles = [diagnosisFile, logsFile, checkFile, diffFile];

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
  return Promise.all(
    names.map(async (name) => ({
      path: relative(folder, name).split(sep).join("/"),
      text: await readFile(name, "utf8"),
    })),
  );
}

function parseDocument(path: string, text: string | undefined): unknown {
  const document = jsonOf(text ?? "");
  if (document === undefined) throw noBundle(path);
  return document;
}

function noBundle(path: string): UsageError {
  return new UsageError(`${path} is no bundle of kubectl knfleet gather`, again);
}

function isBundle(value: unknown): value is Bundle {
  if (!isRecord(value) || value["kind"] !== "Bundle" || value["apiVersion"] !== reportApiVersion) {
    return false;
  }
  const { items, summary, generatedAt } = value;
  if (!Array.isArray(items) || !isRecord(summary)) return false;
  const isTime = typeof generatedAt === "string" && !Number.isNaN(Date.parse(generatedAt));
  return isTime && typeof summary["namespace"] === "string" && items.every(isCluster);
}

const clusterTexts = ["cluster", "server", "provider", "kubernetesVersion"];

function isCluster(value: unknown): value is BundledCluster {
  if (!isRecord(value) || typeof value["folder"] !== "string") return false;
  const texts = clusterTexts.map((field) => value[field]);
  const { unread } = value;
  return (
    texts.every((text) => text === null || typeof text === "string") &&
    (unread === null || isReason(unread))
  );
}

function isError(value: unknown): value is RecordedFleet["errors"][number] {
  return /^\w+$/.test(stringAt(value, "reason") ?? "") && stringAt(value, "message") !== null;
}

function isReason(value: unknown): boolean {
  return ["state", "reason", "message"].every((field) => stringAt(value, field) !== null);
}

function clusterOf(
  item: BundledCluster,
  { path, byFolder }: { readonly path: string; readonly byFolder: FilesByFolder },
): RecordedCluster {
  const tables = (byFolder.get(item.folder) ?? []).map(([name, text]) => {
    const table = parseDocument(path, text);
    if (isTable(table)) return table;
    throw new UsageError(`${name} of the bundle ${path} is not what gather writes`, again);
  });
  return { ...item, tables };
}

function isTable(value: unknown): value is RecordedTable {
  if (!isRecord(value)) return false;
  const { kind, rows, columns, unread } = value;
  const isKind = ["apiVersion", "kind", "plural"].every((field) => stringAt(kind, field) !== null);
  if (!isRecord(kind) || !isKind || !isWords(kind["words"]) || !isWords(kind["categories"])) {
    return false;
  }
  return areRecords(columns) && areRecords(unread) && areRecords(rows) && rows.every(isRow);
}

function isWords(value: unknown): boolean {
  return Array.isArray(value) && value.every((word) => typeof word === "string");
}

function isRow({ object, cells }: Readonly<Record<string, unknown>>): boolean {
  return isRecord(object) && isMetadata(object["metadata"]) && Array.isArray(cells);
}

const metadataTexts = "name namespace uid resourceVersion creationTimestamp deletionTimestamp";

/** Whether metadata have the form that every API server gives them. */
function isMetadata(metadata: unknown): boolean {
  if (!isRecord(metadata)) return false;
  const texts = metadataTexts.split(" ").map((field) => metadata[field]);
  const maps = ["labels", "annotations"].map((field) => metadata[field] ?? {});
  return (
    texts.every((text) => text === undefined || text === null || typeof text === "string") &&
    maps.every((map) => isRecord(map) && isWords(Object.values(map))) &&
    areRecords(metadata["ownerReferences"] ?? []) &&
    isWords(metadata["finalizers"] ?? [])
  );
}
