import { posix } from "node:path";

import type { Bundle } from "../../bundle/bundle.ts";
import { words } from "../../commands.ts";
import { unreadNotes } from "../../output/notes.ts";
import { stepLine } from "../../output/step-lines.ts";
import { orNone, type Table } from "../../output/table.ts";

/** A row for each cluster of a bundle, or for each of its files. */
export function bundleTable(bundle: Bundle, byFile: boolean): Table {
  return byFile ? filesTable(bundle) : clustersTable(bundle);
}

function clustersTable({ items, summary: { files } }: Bundle): Table {
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

function filesTable({ items, summary: { files } }: Bundle): Table {
  return {
    headers: ["CLUSTER", "FILE", "BYTES"],
    rows: files.map(({ path, bytes }) => {
      const own = items.find(({ folder }) => posix.dirname(path) === folder);
      return [own === undefined ? "<none>" : (own.cluster ?? "<hub>"), path, String(bytes)];
    }),
  };
}

/** The lines below the table: where the bundle is, and what it lacks. */
export function bundleNotes({ summary, errors }: Bundle): readonly string[] {
  const { file, bytes, clusters, unread } = summary;
  return [
    ...unreadNotes(errors, { unread, clusters }),
    ...(file === null
      ? ["Nothing was written (--dry-run)."]
      : [
          `Written: ${file}, ${Math.ceil(bytes / 1_024)} KiB, for your eyes only. No credential of this run is in it.`,
          stepLine(words("kubectl", "knfleet", "status", "-A", "--bundle", file)),
        ]),
  ];
}
