import { open, rm } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import {
  indexFile,
  type Bundle,
  type RecordedCluster,
  type RecordedTable,
} from "../../bundle/bundle.ts";
import { tarOf, type ArchiveFile } from "../../bundle/tar.ts";
import { messageOf } from "../../message-of.ts";
import { UsageError } from "../../usage-error.ts";
import { reportOf, stampAt } from "../status/report.ts";
import type { SecretFinder } from "./known-secrets.ts";
import type { Redactor } from "./redact.ts";

/** Looks for every secret of the run in files that are to be written. Throws UsageError that names the files, and no secret. */
export function checkFiles(files: readonly ArchiveFile[], secrets: SecretFinder): void {
  const leaking = files.filter(({ path, text }) => secrets.isIn(path) || secrets.isIn(text));
  if (leaking.length === 0) return;
  const names = leaking.map(({ path }) => (secrets.isIn(path) ? "[redacted]" : path)).join(", ");
  throw new UsageError(`Nothing was written: a credential of this run is in ${names}`, [
    "Report it as a fault of this program; the bundle is of no use to anybody.",
  ]);
}

/** Writes an archive that only the owner may read. Throws UsageError when the file exists or cannot be written. */
export async function writeBundle(
  path: string,
  files: readonly ArchiveFile[],
  modified: Date,
): Promise<number> {
  const root = posix.basename(path.replaceAll("\\", "/")).replace(/\.(?:tgz|tar\.gz)$/, "");
  const inside = files.map(({ path: name, text }) => ({ path: `${root}/${name}`, text }));
  const archive = await promisify(gzip)(tarOf(inside, modified));
  const file = await open(path, "wx", 0o600).catch((error: unknown) => {
    throw new UsageError(`The file ${path} cannot be written: ${messageOf(error)}`, [
      "Name another one with -o.",
    ]);
  });
  try {
    await file.writeFile(archive);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return archive.length;
}

interface Facts {
  readonly clusters: readonly RecordedCluster[];
  readonly namespace: string;
  readonly isWhole: boolean;
  /** Documents of other commands, by file name. */
  readonly documents: Readonly<Record<string, unknown>>;
  readonly now: Date;
  readonly cliVersion: string;
}

/** The files of a bundle, redacted, and their index, which is one of them. */
export function bundleOf(
  facts: Facts,
  redactor: Redactor,
): { readonly files: readonly ArchiveFile[]; readonly bundle: Bundle } {
  const { clusters, documents, now, cliVersion } = facts;
  const write = (path: string, value: unknown): ArchiveFile => ({
    path,
    text: jsonOf(redactor.value(value)),
  });
  const files = [
    ...Object.entries(documents).map(([path, document]) => write(path, document)),
    ...clusters.flatMap(({ folder, tables }) =>
      tables.map((table) => write(`${folder}/${fileOf(table)}.json`, table)),
    ),
  ];
  const sizes = files.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) }));
  const unread = clusters.filter((cluster) => cluster.unread !== null);
  const bundle: Bundle = reportOf("Bundle", stampAt(now, cliVersion), {
    complete: unread.length === 0,
    summary: {
      file: null,
      bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
      namespace: facts.namespace,
      whole: facts.isWhole,
      clusters: clusters.length,
      unread: unread.length,
      objects: clusters.reduce((sum, { objects }) => sum + objects, 0),
      files: sizes,
    },
    items: clusters.map(itemOf),
    errors: unread.flatMap(({ cluster, unread: why }) => {
      return why === null
        ? []
        : [{ reason: why.reason, message: redactor.text(why.message), cluster }];
    }),
  });
  return { files: [write(indexFile, bundle), ...files], bundle };
}

function itemOf({ tables: _tables, ...item }: RecordedCluster): Bundle["items"][number] {
  return item;
}

function fileOf({ kind: { plural, group } }: RecordedTable): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}
