import { plainText } from "../../../../api/foreign-text.ts";
import { targetId } from "../../../../api/keys.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { type ActionInput, askedOf, openReading, print, selectionOf } from "../../action.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import type { ExitCode } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames, objectLine, shortNameOf } from "../../output/names.ts";
import { unreadNotes } from "../../output/notes.ts";
import { type Commands, stepLine, words } from "../../output/steps.ts";
import { orNone, type Table } from "../../output/table.ts";
import { painterFor, type Terminal } from "../../output/terminal.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { type Diff, diffExitCode, type DiffItem, type DiffList } from "./diff-list.ts";
import { diffText, externalDiff, type NamedChanges, runExternalDiff } from "./diff-text.ts";
import { diff, type DiffDeps } from "./diff.ts";

/** `kubectl knfleet diff`. */
export async function runDiff(
  input: ActionInput<RenderingFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const found =
    flags.recorded === undefined
      ? await readDiff(input, signal)
      : await (await import("../../bundle/recorded-diff.ts")).recordedDiff(input, signal);
  const list = sortedBy(found.list, flags.sortBy);
  const text = await textOf(found, input, signal);
  const { commands } = askedOf({ kinds: [], names: [] }, { ...flags, bundle: undefined });
  await print(
    {
      document: list,
      ...(text === undefined
        ? { table: (wide: boolean) => diffTable(list, wide) }
        : { heading: text }),
      names: list.items.map(({ cluster, object }) => objectLine(cluster, object)),
      notes: notesOf(list, commands),
    },
    flags,
    terminal,
  );
  return diffExitCode(list);
}

async function readDiff(input: ActionInput<RenderingFlags>, signal: AbortSignal): Promise<Diff> {
  const { args, flags, terminal } = input;
  const { env, now } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  await using settings = await openRendering(input, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const deps: DiffDeps = { access, limits, settings, now };
  const selection = selectionOf(args, flags, access);
  return await diff(selection, deps, signal).finally(end);
}

/** The diffs as text; undefined when `-o` asks for another format, empty when the user's own program prints them. */
async function textOf(
  { list, blocks }: Diff,
  { flags, terminal }: ActionInput<RenderingFlags>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (flags.outputGiven) return undefined;
  const [left, right] = list.summary.sides;
  const changes = blocks.map(({ component, changes: all }): NamedChanges => {
    const cluster = targetId(component) || "hub";
    return { labels: [`${left}/${cluster}`, `${right}/${cluster}`], prefix: cluster, changes: all };
  });
  const program = externalDiff(terminal.env);
  if (program === undefined) return painted(diffText(changes), flags, terminal);
  if (list.items.length > 0) {
    await runExternalDiff(program, { blocks: changes, terminal }, signal);
  }
  return "";
}

function painted(text: string, flags: Flags, terminal: Terminal): string {
  const paint = painterFor(terminal, flags.color);
  return text
    .split("\n")
    .map((line) => {
      if (line.startsWith("+")) return paint(line, "good");
      return line.startsWith("-") ? paint(line, "bad") : line;
    })
    .join("\n");
}

const shownFields = 3;

function diffTable({ items }: DiffList, wide: boolean): Table {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  const headers = ["CLUSTER", "NAMESPACE", "KIND", "NAME", "CHANGE"];
  return {
    headers: [...headers, ...(wide ? ["INSTALLATION", "ALSO WRITTEN BY"] : []), "FIELDS"],
    mayShorten: ["FIELDS"],
    rows: items.map(({ cluster, object, change, fields, managers, installation, message }) => {
      const paths = fields.map(({ path }) => path);
      const shown = wide ? paths : paths.slice(0, shownFields);
      const more = paths.length > shown.length ? ` +${paths.length - shown.length}` : "";
      return [
        clusterOf(cluster),
        orNone(object.namespace),
        object.kind,
        object.name,
        { text: change, tone: change === "changed" ? "warning" : "bad" },
        ...(wide ? [describe(installation), orNone(managers.join(","))] : []),
        message ?? orNone(`${shown.join(",")}${more}`),
      ];
    }),
  };
}

function notesOf({ items, errors, summary }: DiffList, commands: Commands): readonly string[] {
  const { compared, changed, missing, extra, installations } = summary;
  const [left, right] = summary.sides;
  const counts =
    items.length === 0
      ? "no difference"
      : `${changed} changed, ${missing} missing, ${extra} not wanted`;
  const refused = items.flatMap(({ message }) => (message === null ? [] : [plainText(message)]));
  const [first] = items;
  return [
    installations === 0
      ? "No Knative installations found."
      : `${compared} objects of ${installations} installation${installations === 1 ? "" : "s"}, ${left} against ${right}: ${counts}.`,
    ...refused.slice(0, 10).map((message) => `  refused: ${message}`),
    ...unreadNotes(errors, summary),
    ...(first === undefined
      ? []
      : ["To see why the controller has not repaired it:", stepLine(walkOf(first, commands))]),
  ];
}

function walkOf({ installation }: DiffItem, { knfleet }: Commands): string {
  const { namespace } = installation;
  return `${knfleet} ${words("diagnose", shortNameOf(installation), "-n", namespace)}`;
}
