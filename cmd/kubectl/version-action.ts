import { print, type ActionInput } from "./action.ts";
import { clientVersion } from "./client-version.ts";
import type { ExitCode } from "./exit-codes.ts";
import { nameOf } from "./installation-name.ts";
import { openClusterAccess } from "./open-cluster-access.ts";
import { ownReasons } from "./own-reasons.ts";
import { versionLines, versionTable } from "./print/version-text.ts";
import { version, versionExitCode, type VersionReport } from "./version.ts";

/** Flags of `version` alone. */
export interface VersionFlags {
  readonly client?: boolean;
}

/** `kubectl knfleet version`: prints what it knows of itself also when the hub cannot be asked, and then fails. */
export async function runVersion(
  input: ActionInput<VersionFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const client = {
    version: clientVersion,
    node: process.version,
    platform: `${process.platform}/${process.arch}`,
  };
  const { now, env } = terminal;
  const clientOnly = await version({ access: undefined, client, now }, signal);
  if (options.client === true) return await printVersion(clientOnly, input);
  try {
    await using access = await openClusterAccess(flags, { env, spokes: false }, signal);
    return await printVersion(await version({ access, client, now }, signal), input);
  } catch (error) {
    const reason = "HubUnavailable";
    const said = { reason, message: ownReasons[reason], cluster: null } as const;
    await printVersion({ ...clientOnly, complete: false, errors: [said] }, input);
    if (error instanceof Error) Object.assign(error, { isPrinted: true });
    throw error;
  }
}

async function printVersion(
  report: VersionReport,
  { flags, terminal }: ActionInput<VersionFlags>,
): Promise<ExitCode> {
  await print(
    {
      document: report,
      heading: versionLines(report, flags.output === "wide"),
      table: () => versionTable(report),
      names: report.items.map(nameOf),
      notes: report.errors
        .filter(({ reason }) => reason !== "HubUnavailable")
        .map(({ reason, message }) => `${reason}: ${message}`),
    },
    flags,
    terminal,
  );
  return versionExitCode(report);
}
