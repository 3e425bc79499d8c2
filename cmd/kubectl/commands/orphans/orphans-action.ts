import { plainText } from "../../../../api/foreign-text.ts";
import { type ActionInput, openReading, print, selectionOf } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import { selectInstallations } from "../../hub/installations.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames, objectLine } from "../../output/names.ts";
import { unreadNotes } from "../../output/notes.ts";
import { notFoundErrors } from "../../output/report.ts";
import { commandsOf, numberedSteps, withHubSteps } from "../../output/steps.ts";
import { orNone, type Table } from "../../output/table.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import type { OrphanList } from "./orphan.ts";
import { orphans, orphansExitCode } from "./orphans.ts";

/** Flags of `orphans` alone. */
interface OrphansFlags {
  readonly live?: boolean;
}

/** `kubectl knfleet orphans`. */
export async function runOrphans(
  { args, flags, options, terminal }: ActionInput<OrphansFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { env, now } = terminal;
  const { live = true } = options;
  if (flags.recorded?.isWhole === false) throw new UsageError(partOnly, wholeSteps);
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const { limits, end } = openReading(flags, terminal);
  // The steps are for the clusters themselves, also when the findings come from a bundle.
  const commands = commandsOf({ ...flags, bundle: undefined });
  const selected =
    args.length === 0
      ? undefined
      : await selectInstallations(access, selectionOf(args, flags, access), signal);
  const { missing = [] } = selected ?? {};
  const deps = { access, limits, flags, live, now, ...(selected && { only: selected.components }) };
  const found = await orphans(deps, signal).finally(end);
  const errors = [...notFoundErrors(missing), ...found.errors];
  const list = sortedBy(withHubSteps({ ...found, errors }, commands), flags.sortBy);
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
  return missing.length > 0 ? exitCodes.unhealthy : orphansExitCode(list);
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
      ...numberedSteps(next),
    ]);
  const rest = items.length - shownSteps;
  return [
    `${findings === 0 ? "Nothing is left over" : `${findings} found`}, ${looked}. Nothing was deleted.`,
    ...steps,
    ...(rest > 0 ? [`… and ${rest} more (-o json has all steps)`] : []),
    ...unreadNotes(errors, summary),
  ];
}
