import type { Releases } from "../../../../render/release/releases.ts";
import { openReleases } from "../../../open-releases.ts";
import { askedOf, print, selectionOf, type ActionInput } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import { rulesOfHub } from "../../compare/controller-rules.ts";
import { exitCodes, type ExitCode } from "../../exit-codes.ts";
import { sortedBy } from "../../output/sorted.ts";
import { renderJson } from "../../output/structured.ts";
import { readNames } from "../../selection/selection.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { openReading } from "../../spokes/open-reading.ts";
import { namespaceOfHub, type SpokeNamespaceFlag } from "../../spokes/spoke-namespace.ts";
import { UsageError } from "../../usage-error.ts";
import { yamlOfObject } from "../render/objects-text.ts";
import { releaseDirOf } from "../render/render-files.ts";
import { canINotes, missingRoleText, permissionTable } from "./can-i-text.ts";
import { canI, canIExitCode } from "./can-i.ts";
import { clusterRoleOf, spokeRoleName } from "./cluster-role.ts";
import { findComponents } from "./find-components.ts";
import { everythingOf } from "./needs.ts";
import { allWanted, permissionsFor } from "./permissions.ts";

/** Flags of `can-i` alone. */
export interface CanIFlags extends SpokeNamespaceFlag {
  readonly version?: string;
  readonly role?: boolean;
  readonly releaseDir?: string;
}

type Input = ActionInput<CanIFlags>;

/** `kubectl knfleet can-i`. */
export async function runCanI(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  const { env, now, stderr, stdout } = terminal;
  if (options.role === true) return await printRole(input, signal);
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const found = await findComponents(args, { access, flags }, signal);
  const releases = await releasesOf(input, signal);
  const { limits, end } = openReading(flags, terminal);
  const { version } = options;
  const namespaceOf = namespaceOfHub(options, rulesOfHub(access, signal));
  const asked = await canI(
    found,
    { access, limits, releases, namespaceOf, version, now, cliVersion: clientVersion },
    signal,
  ).finally(end);
  const report = sortedBy(asked, flags.sortBy);
  const { commands } = askedOf(selectionOf([], flags, access), flags);
  const notes = canINotes(report, { commands, args, version });
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

async function releasesOf({ options, terminal }: Input, signal: AbortSignal): Promise<Releases> {
  return await openReleases(await releaseDirOf(options, terminal.env, signal));
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
  const releases = await releasesOf(input, signal);
  const { version } = options;
  const of = { releases, ...(version === undefined ? {} : { version }) };
  const needs = await Promise.all(kinds.map((kind) => everythingOf(kind, of)));
  const permissions = permissionsFor(allWanted(needs));
  const role = clusterRoleOf(spokeRoleName, permissions);
  const what = kinds.map((kind, at) => `${kind} ${needs[at]?.version ?? ""}`).join(" and ");
  const heading = `# What knfleet needs on a spoke for ${what}. Bind it cluster-wide to the identity that the hub uses there.\n`;
  terminal.stdout.write(format === "json" ? renderJson(role) : `${heading}${yamlOfObject(role)}`);
  return exitCodes.fine;
}
