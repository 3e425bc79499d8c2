import { askedOf, limitsOf, print, selectionOf, timesOf, type ActionInput } from "./action.ts";
import { clientVersion } from "./client-version.ts";
import type { ExitCode } from "./exit-codes.ts";
import { oneOf } from "./flags.ts";
import { nameOf } from "./installation-name.ts";
import { openClusterAccess } from "./open-cluster-access.ts";
import { statusNotes } from "./print/notes.ts";
import { openProgress } from "./print/progress.ts";
import { sortedBy } from "./print/sorted.ts";
import { statusTable } from "./print/status-table.ts";
import { status, statusExitCode } from "./status.ts";

/** Flags of `status` alone. */
export interface StatusFlags {
  readonly live?: boolean;
  readonly failOn?: string;
}

/** `kubectl knfleet status`. */
export async function runStatus(
  { args, flags, options, terminal }: ActionInput<StatusFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const failOn = oneOf(options.failOn ?? "error", ["error", "warning", "never"], "--fail-on");
  const live = options.live ?? true;
  const { env, now, stderr } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const selection = selectionOf(args, flags, access);
  const progress = openProgress(flags.quiet ? undefined : stderr);
  const report = sortedBy(
    await status(
      { selection, live, limits: limitsOf(flags, progress.update) },
      { access, now, cliVersion: clientVersion },
      signal,
    ).finally(progress.end),
    flags.sortBy,
  );
  await print(
    {
      document: report,
      table: (wide) => statusTable(report, wide, timesOf(flags, terminal)),
      names: report.items.map(nameOf),
      notes: statusNotes(report, askedOf(selection, flags)),
    },
    flags,
    terminal,
  );
  return statusExitCode(report, failOn);
}
