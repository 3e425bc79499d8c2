import { plainText } from "../../../../api/foreign-text.ts";
import { targetId } from "../../../../api/keys.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { type Diff, diffExitCode, type DiffItem, type DiffList } from "../../compare/diff-list.ts";
import { diff } from "../../compare/diff.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Looks, Report } from "../../main/report.ts";
import { type Columns, onCluster, shortened, toned, wide } from "../../output/columns.ts";
import { objectLine, shortNameOf } from "../../output/names.ts";
import { type Commands, commandsOf, stepLine, words } from "../../output/steps.ts";
import { diffText, externalDiff, type NamedChanges, runExternalDiff } from "./diff-text.ts";

/** How clusters, or those of a bundle, differ from what the controller makes of them. Throws only when the hub cannot be read, and UsageError. */
export async function diffReport(fleet: Fleet, options: RenderingFlags): Promise<Report<DiffItem>> {
  const { flags } = fleet;
  const found =
    flags.recorded === undefined
      ? await readDiff(fleet, options)
      : await (await import("../../bundle/recorded-diff.ts")).recordedDiff(fleet);
  fleet.endProgress();
  const { items, summary, errors, complete, cliVersion } = found.list;
  const text = flags.outputGiven ? undefined : await textOf(found, fleet);
  const commands = commandsOf({ ...flags, bundle: undefined });
  return {
    items,
    summary,
    errors,
    complete,
    cliVersion,
    exitCode: diffExitCode(found.list),
    ...(text === undefined
      ? { columns: columns(flags.output === "wide") }
      : { heading: (looks) => painted(text, looks) }),
    name: ({ cluster, object }) => objectLine(cluster, object),
    notes: (sorted) => notesOf(sorted, summary),
    advises: false,
    next: (sorted) => sorted.slice(0, 1).flatMap((first) => walkSteps(first, commands)),
  };
}

async function readDiff(fleet: Fleet, options: RenderingFlags): Promise<Diff> {
  const { signal, now } = fleet;
  const access = await fleet.access();
  await using settings = await openRendering(fleet.asInput(options), access, signal);
  const deps = { access, limits: fleet.limits(), settings, now };
  return await diff(await fleet.selection(), deps, signal);
}

/** The diffs as text, empty when the user's own program prints them. */
async function textOf({ list, blocks }: Diff, fleet: Fleet): Promise<string> {
  const { terminal } = fleet.asInput({});
  const [left, right] = list.summary.sides;
  const changes = blocks.map(({ component, changes: all }): NamedChanges => {
    const cluster = targetId(component) || "hub";
    return { labels: [`${left}/${cluster}`, `${right}/${cluster}`], prefix: cluster, changes: all };
  });
  const program = externalDiff(terminal.env);
  if (program === undefined) return diffText(changes);
  if (list.items.length > 0) {
    await runExternalDiff(program, { blocks: changes, terminal }, fleet.signal);
  }
  return "";
}

function painted(text: string, { paint }: Looks): string {
  return text
    .split("\n")
    .map((line) => {
      if (line.startsWith("+")) return paint(line, "good");
      return line.startsWith("-") ? paint(line, "bad") : line;
    })
    .join("\n");
}

const shownFields = 3;

const columns = (isWide: boolean): Columns<DiffItem> => ({
  CLUSTER: onCluster(({ cluster }) => cluster),
  NAMESPACE: ({ object }) => object.namespace,
  KIND: ({ object }) => object.kind,
  NAME: ({ object }) => object.name,
  CHANGE: ({ change }) => toned(change === "changed" ? "warning" : "bad", change),
  INSTALLATION: wide(({ installation }) => describe(installation)),
  "ALSO WRITTEN BY": wide(({ managers }) => managers.join(",")),
  FIELDS: shortened((item) => fieldsText(item, isWide)),
});

function fieldsText({ fields, message }: DiffItem, isWide: boolean): string {
  const paths = fields.map(({ path }) => path);
  const shown = isWide ? paths : paths.slice(0, shownFields);
  const more = paths.length > shown.length ? ` +${paths.length - shown.length}` : "";
  return message ?? `${shown.join(",")}${more}`;
}

function notesOf(
  items: readonly DiffItem[],
  { compared, changed, missing, extra, installations, sides }: DiffList["summary"],
): readonly string[] {
  const [left, right] = sides;
  const counts =
    items.length === 0
      ? "no difference"
      : `${changed} changed, ${missing} missing, ${extra} not wanted`;
  const refused = items.flatMap(({ message }) => (message === null ? [] : [plainText(message)]));
  return [
    installations === 0
      ? "No Knative installations found."
      : `${compared} objects of ${installations} installation${installations === 1 ? "" : "s"}, ${left} against ${right}: ${counts}.`,
    ...refused.slice(0, 10).map((message) => `  refused: ${message}`),
  ];
}

function walkSteps({ installation }: DiffItem, { knfleet }: Commands): readonly string[] {
  const walk = words("diagnose", shortNameOf(installation), "-n", installation.namespace);
  return ["To see why the controller has not repaired it:", stepLine(`${knfleet} ${walk}`)];
}
