import { askedOf, limitsOf, print, selectionOf, type ActionInput } from "./action.ts";
import { clientVersion } from "./client-version.ts";
import { deployments, deploymentsExitCode } from "./deployments.ts";
import type { ExitCode } from "./exit-codes.ts";
import { openClusterAccess } from "./open-cluster-access.ts";
import { deploymentsTable } from "./print/deployments-table.ts";
import { deploymentNotes } from "./print/notes.ts";
import { openProgress } from "./print/progress.ts";

/** `kubectl knfleet deployments`. */
export async function runDeployments(
  { args, flags, terminal }: ActionInput<unknown>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { env, now, stderr } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const selection = selectionOf(args, flags, access);
  const progress = openProgress(flags.quiet ? undefined : stderr);
  const list = await deployments(
    { selection, limits: limitsOf(flags, progress.update) },
    { access, now, cliVersion: clientVersion },
    signal,
  ).finally(progress.end);
  await print(
    {
      document: list,
      table: (wide) => deploymentsTable(list, wide, now()),
      notes: deploymentNotes(list, askedOf(selection, flags)),
    },
    flags,
    terminal,
  );
  return deploymentsExitCode(list);
}
