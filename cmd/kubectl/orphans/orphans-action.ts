import { askedOf, limitsOf, print, type ActionInput } from "../action.ts";
import { clientVersion } from "../client-version.ts";
import type { ExitCode } from "../exit-codes.ts";
import { openClusterAccess } from "../open-cluster-access.ts";
import { clusterNames } from "../print/cluster-name.ts";
import { unreadNotes } from "../print/notes.ts";
import { objectLine } from "../print/object-line.ts";
import { plainText } from "../print/plain-text.ts";
import { openProgress } from "../print/progress.ts";
import { sortedBy } from "../print/sorted.ts";
import { orNone, type Table } from "../print/table.ts";
import type { OrphanList } from "./orphan.ts";
import { orphans, orphansExitCode } from "./orphans.ts";

/** Flags of `orphans` alone. */
export interface OrphansFlags {
  readonly live?: boolean;
}

/** `kubectl knfleet orphans`. */
export async function runOrphans(
  { flags, options, terminal }: ActionInput<OrphansFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { env, now, stderr } = terminal;
  const { live = true } = options;
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const progress = openProgress(flags.quiet ? undefined : stderr);
  const { command: knfleet } = askedOf({ kinds: [], names: [] }, flags);
  const commands = { knfleet, kubectl: knfleet.replace("kubectl knfleet", "kubectl") };
  const limits = limitsOf(flags, progress.update);
  const deps = { access, limits, flags, commands, live, now, cliVersion: clientVersion };
  const list = sortedBy(await orphans(deps, signal).finally(progress.end), flags.sortBy);
  await print(
    {
      document: list,
      table: (wide) => orphansTable(list, wide),
      names: list.items.map(({ cluster, object }) => objectLine(cluster, object)),
      notes: notesOf(list),
    },
    flags,
    terminal,
  );
  return orphansExitCode(list);
}

function orphansTable({ items }: OrphanList, wide: boolean): Table {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  return {
    headers: [
      "CLUSTER",
      "FINDING",
      "KIND",
      "NAMESPACE",
      "NAME",
      ...(wide ? ["OBJECTS", "UID"] : []),
      "MESSAGE",
    ],
    mayShorten: ["MESSAGE"],
    rows: items.map(({ cluster, finding, object, objects, component, message }) => [
      clusterOf(cluster),
      { text: finding, tone: finding === "AnotherHub" ? "warning" : "bad" },
      object.kind,
      orNone(object.namespace),
      object.name,
      ...(wide ? [String(objects), orNone(component?.uid)] : []),
      message,
    ]),
  };
}

const shownSteps = 5;

function notesOf({ items, errors, summary }: OrphanList): readonly string[] {
  const { findings, components, clusters } = summary;
  const looked = `${components} component${components === 1 ? "" : "s"} and ${clusters} cluster${clusters === 1 ? "" : "s"} looked at`;
  const steps = items
    .slice(0, shownSteps)
    .flatMap(({ finding, object, next }) => [
      `${finding} ${object.kind} ${plainText(object.name)}:`,
      ...next.map((step, at) => `  ${at + 1}. ${plainText(step)}`),
    ]);
  const rest = items.length - shownSteps;
  return [
    `${findings === 0 ? "Nothing is left over" : `${findings} found`}, ${looked}. Nothing was deleted.`,
    ...steps,
    ...(rest > 0 ? [`… and ${rest} more (-o json has all steps)`] : []),
    ...unreadNotes(errors, summary),
  ];
}
