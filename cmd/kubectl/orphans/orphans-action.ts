import { askedOf, print, type ActionInput } from "../action.ts";
import { clientVersion } from "../client-version.ts";
import type { ExitCode } from "../exit-codes.ts";
import { openClusterAccess } from "../open-cluster-access.ts";
import { openReading } from "../open-reading.ts";
import { clusterNames } from "../print/cluster-name.ts";
import { unreadNotes } from "../print/notes.ts";
import { objectLine } from "../print/object-line.ts";
import { plainText } from "../print/plain-text.ts";
import { sortedBy } from "../print/sorted.ts";
import { orNone, type Table } from "../print/table.ts";
import { UsageError } from "../usage-error.ts";
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
  const { env, now } = terminal;
  const { live = true } = options;
  if (flags.recorded?.isWhole === false) throw new UsageError(partOnly, wholeSteps);
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const { limits, end } = openReading(flags, terminal);
  // What is to be done is to be done on the clusters, also when a bundle has told of it.
  const { command: knfleet } = askedOf({ kinds: [], names: [] }, { ...flags, bundle: undefined });
  const commands = { knfleet, kubectl: knfleet.replace("kubectl knfleet", "kubectl") };
  const deps = { access, limits, flags, commands, live, now, cliVersion: clientVersion };
  const list = sortedBy(await orphans(deps, signal).finally(end), flags.sortBy);
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

const partOnly =
  "The bundle is of a part of the fleet: what is left over shows only where all of it is known";
const wholeSteps = ["kubectl knfleet gather -A -o fleet.tgz"];

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
