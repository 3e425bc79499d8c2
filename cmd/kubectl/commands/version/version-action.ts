import { print, selectionOf, type ActionInput } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import type { ExitCode } from "../../exit-codes.ts";
import { nameOf } from "../../hub/installation-name.ts";
import { sortedBy } from "../../output/sorted.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { openReading } from "../../spokes/open-reading.ts";
import { ownReasons } from "../status/own-reasons.ts";
import { knownReleases } from "./known-releases.ts";
import { versionLines, versionNotes, versionTable } from "./version-text.ts";
import { version, versionExitCode, type VersionDeps, type VersionReport } from "./version.ts";

/** Flags of `version` alone. */
export interface VersionFlags {
  readonly client?: boolean;
  readonly live?: boolean;
  readonly strict?: boolean;
}

type Input = ActionInput<VersionFlags>;

/** `kubectl knfleet version`: prints what it knows of itself also when the hub cannot be asked, and then fails. */
export async function runVersion(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { options, terminal } = input;
  const client = {
    version: clientVersion,
    node: process.version,
    platform: `${process.platform}/${process.arch}`,
  };
  const own = { client, known: await knownReleases(), now: terminal.now };
  const clientOnly = await version({ ...own, hub: undefined }, signal);
  if (options.client === true) return await printVersion(clientOnly, input);
  try {
    return await printVersion(await versionOfAll(own, input, signal), input);
  } catch (error) {
    const reason = "HubUnavailable";
    const said = { reason, message: ownReasons[reason], cluster: null } as const;
    await printVersion({ ...clientOnly, complete: false, errors: [said] }, input);
    if (error instanceof Error) Object.assign(error, { isPrinted: true });
    throw error;
  }
}

async function versionOfAll(
  own: Omit<VersionDeps, "hub">,
  { flags, options, terminal }: Input,
  signal: AbortSignal,
): Promise<VersionReport> {
  const { live = true } = options;
  const { env } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const { limits, end } = openReading(flags, terminal);
  // All namespaces unless one is named.
  const namespace = flags.namespace ?? undefined;
  const selection = selectionOf([], { ...flags, namespace }, access);
  const hub = { access, limits, selection, live };
  return await version({ ...own, hub }, signal).finally(end);
}

async function printVersion(
  unsorted: VersionReport,
  { flags, options, terminal }: Input,
): Promise<ExitCode> {
  const report = sortedBy(unsorted, flags.sortBy);
  await print(
    {
      document: report,
      heading: versionLines(report, flags.output === "wide"),
      table: () => versionTable(report),
      names: report.items.map(nameOf),
      notes: versionNotes(report),
    },
    flags,
    terminal,
  );
  return versionExitCode(report, { strict: options.strict === true });
}
