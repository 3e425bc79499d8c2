import {
  indexFile,
  type Bundle,
  type RecordedCluster,
  type RecordedTable,
} from "../../bundle/bundle.ts";
import type { ArchiveFile } from "../../bundle/tar.ts";
import { reportOf, stampAt } from "../status/report.ts";
import type { Redactor } from "./redact.ts";

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
