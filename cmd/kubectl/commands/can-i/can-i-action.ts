import { plainText } from "../../../../api/foreign-text.ts";
import { type ActionInput, askedOf, openReading, print, selectionOf } from "../../action.ts";
import { rulesOfHub } from "../../compare/controller-rules.ts";
import { namedReleases } from "../../compare/named-releases.ts";
import { namespaceOfHub, type SpokeNamespaceFlag } from "../../compare/rendering-options.ts";
import { checkVersionFlag } from "../../compare/version-flag.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames } from "../../output/names.ts";
import { unreadNotes } from "../../output/notes.ts";
import { renderJson } from "../../output/output-format.ts";
import { type Commands, stepLine, words } from "../../output/steps.ts";
import type { Cell, Table } from "../../output/table.ts";
import { documentOutput } from "../../output/terminal.ts";
import { readNames } from "../../selection/selection.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { yamlOfObject } from "../render/objects-text.ts";
import { canI, canIExitCode, type PermissionItem, type PermissionReport } from "./can-i.ts";
import { findComponents } from "./find-components.ts";
import { clusterRoleOf, loadEverything, spokeRoleName } from "./needs.ts";
import { allWanted, inOrder, permissionsFor, resourceName } from "./permissions.ts";

/** Flags of `can-i` alone. */
interface CanIFlags extends SpokeNamespaceFlag {
  readonly version?: string;
  readonly role?: boolean;
}

type Input = ActionInput<CanIFlags>;

/** `kubectl knfleet can-i`. */
export async function runCanI(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  const { env, now, stderr, stdout } = terminal;
  if (options.version !== undefined) checkVersionFlag(options.version);
  if (options.role === true) return await printRole(input, signal);
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const found = await findComponents(args, { access, flags }, signal);
  const releases = namedReleases(input, signal);
  const { limits, end } = openReading(flags, terminal);
  const { version } = options;
  const namespaceOf = namespaceOfHub(options, rulesOfHub(access, signal));
  const asked = await canI(
    found,
    { access, limits, releases, namespaceOf, version, now },
    signal,
  ).finally(end);
  const report = sortedBy(asked, flags.sortBy);
  const { commands } = askedOf(selectionOf([], flags, access), flags);
  const notes = [...found.notes, ...canINotes(report, { commands, args, version })];
  if (flags.output === "clusterrole") {
    stdout.write(missingRoleText(report.items));
    if (!flags.quiet) stderr.write(notes.map((note) => `${note}\n`).join(""));
    return canIExitCode(report);
  }
  await print(
    { document: report, table: (wide) => permissionTable(report.items, wide), notes },
    flags,
    terminal,
  );
  return canIExitCode(report);
}

/** Prints the ClusterRole for everything that a version, or one kind of it, can install. */
async function printRole(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  const { kinds, names } = readNames(args);
  if (names.length > 0) {
    throw new UsageError(`--role is about versions, not about ${args.join(" ")}`, [
      "kubectl knfleet can-i --role",
      "For what one cluster lacks, leave --role out and give -o clusterrole.",
    ]);
  }
  const format = flags.outputGiven ? flags.output : "yaml";
  if (format !== "yaml" && format !== "json" && format !== "clusterrole") {
    throw new UsageError(`Invalid value "${format}" for --output: want yaml, json`);
  }
  const releases = await namedReleases(input, signal)();
  const { version } = options;
  const of = { releases, ...(version === undefined ? {} : { version }) };
  const needs = await Promise.all(kinds.map((kind) => loadEverything(kind, of)));
  const permissions = permissionsFor(allWanted(needs));
  const role = clusterRoleOf(spokeRoleName, permissions);
  const what = kinds.map((kind, at) => `${kind} ${needs[at]?.version ?? ""}`).join(" and ");
  const heading = `# What knfleet needs on a spoke for ${what}. Bind it cluster-wide to the identity that the hub uses there.\n`;
  const text = format === "json" ? renderJson(role) : `${heading}${yamlOfObject(role)}`;
  documentOutput(terminal).write(text);
  const lacking = needs.flatMap((one) => one.lacking);
  if (lacking.length > 0) {
    const parts = lacking.join(", ");
    terminal.stderr.write(`The release folder lacks ${parts}: the role has no rights for them.\n`);
  }
  return exitCodes.fine;
}

/** Clusters by resources: what is missing, and one row for a cluster that lacks nothing; in wide output every resource. */
function permissionTable(items: readonly PermissionItem[], wide: boolean): Table {
  const nameOf = clusterNames(items.map(({ cluster }) => cluster));
  const shown = items.map((item) => ({ item, rows: wide ? item.permissions : lackingOf(item) }));
  const verbs = inOrder([
    ...new Set(
      shown.flatMap(({ item, rows }) =>
        (rows.length === 0 ? item.permissions : rows).flatMap(verbsOf),
      ),
    ),
  ]);
  return {
    headers: ["CLUSTER", "RESOURCE", "FOR", ...verbs.map((verb) => verb.toUpperCase())],
    mayShorten: ["RESOURCE"],
    rows: shown.flatMap(({ item, rows }): Cell[][] => {
      const cluster = nameOf(item.cluster);
      if (rows.length === 0) {
        const text = `all ${item.permissions.length} resources`;
        return [[cluster, text, "<all>", ...verbs.map(() => yes)]];
      }
      return rows.map((row) => [
        cluster,
        resourceName(row),
        row.purpose,
        ...verbs.map((verb) => cellOf(verb, row)),
      ]);
    }),
  };
}

type Row = PermissionItem["permissions"][number];

const yes: Cell = { text: "yes", tone: "good" };

function cellOf(verb: string, { allowed, missing }: Row): Cell {
  if (missing.includes(verb)) return { text: "no", tone: "bad" };
  return allowed.includes(verb) ? yes : "-";
}

function lackingOf({ permissions }: PermissionItem): readonly Row[] {
  return permissions.filter(({ missing }) => missing.length > 0);
}

function verbsOf({ allowed, missing }: Row): readonly string[] {
  return [...allowed, ...missing];
}

/** Lines below the table: missing rights for each identity, and how to grant them. */
function canINotes(
  { items, errors, summary }: PermissionReport,
  asked: {
    readonly commands: Commands;
    readonly args: readonly string[];
    readonly version: string | undefined;
  },
): readonly string[] {
  const lacking = items.filter(({ missing }) => missing > 0);
  const flags = asked.version === undefined ? [] : ["--version", asked.version];
  const [only] = lacking.length === 1 ? lacking : [];
  const named = only?.cluster ?? null;
  const isHub = only?.cluster === null;
  const who = named === null ? asked.args : [`${named.namespace}/${named.name}`];
  const { knfleet, kubectl } = asked.commands;
  const line = `${knfleet} ${words("can-i", ...who, ...flags, "-o", "clusterrole")}`;
  // Only an administrator of the cluster itself can grant rights there.
  const step = isHub
    ? `${line} | ${kubectl} apply -f -`
    : `To grant it, with a context of the cluster's administrator in place of SPOKE: ${line} | kubectl --context SPOKE apply -f -`;
  return [
    ...(items.length + errors.length === 0 ? ["There is no cluster to ask."] : []),
    ...items.map(itemLine),
    ...(lacking.length === 0 ? [] : [stepLine(step)]),
    ...hubNotes(items),
    ...unreadNotes(errors, { unread: summary.unread, clusters: summary.clusters }),
  ];
}

/** On the hub the check is about the user of this command, while the controller needs the rights. */
function hubNotes(items: readonly PermissionItem[]): readonly string[] {
  const hub = items.find(({ cluster }) => cluster === null);
  if (hub === undefined || hub.user.startsWith("system:serviceaccount:")) return [];
  return [
    "The hub was asked about you; --as system:serviceaccount:NAMESPACE:NAME asks about the controller.",
  ];
}

function itemLine({ cluster, user, installations, needed, missing }: PermissionItem): string {
  const where = cluster === null ? "<hub>" : `${cluster.namespace}/${cluster.name}`;
  const what = installations.map(({ kind, version }) => `${kind} ${version}`);
  const how = missing === 0 ? `has all ${needed} rights` : `lacks ${missing} of ${needed} rights`;
  return plainText(`${where}: ${user} ${how} for ${[...new Set(what)].join(" and ")}`);
}

/** The roles with missing rights as YAML documents. Equal roles are printed once, with the clusters that need them. */
function missingRoleText(items: readonly PermissionItem[]): string {
  const lacking = items.filter(({ missing }) => missing > 0);
  const same = Map.groupBy(lacking, ({ missingRole }) => missingRole[0]?.metadata.name ?? "");
  const documents = [...same.values()].flatMap((all) => {
    const [first] = all;
    if (first === undefined) return [];
    const where = all.map(({ cluster }) =>
      cluster === null ? "the hub" : `${cluster.namespace}/${cluster.name}`,
    );
    const comment = plainText(`# Missing on ${where.join(", ")} for ${first.user}`);
    return [`${comment}\n${first.missingRole.map(yamlOfObject).join("---\n")}`];
  });
  return documents.join("---\n");
}
