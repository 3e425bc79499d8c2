import { askedOf, print, timesOf, type ActionInput } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import type { ExitCode } from "../../exit-codes.ts";
import { objectName } from "../../hub/installation-name.ts";
import { deploymentNotes } from "../../output/notes.ts";
import { sortedBy } from "../../output/sorted.ts";
import type { FilenameFlag } from "../../selection/filename-option.ts";
import { askedSelection } from "../../selection/selection-file.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { openReading } from "../../spokes/open-reading.ts";
import { deploymentsTable } from "./deployments-table.ts";
import { deployments, deploymentsExitCode } from "./deployments.ts";

/** `kubectl knfleet deployments`. */
export async function runDeployments(
  input: ActionInput<FilenameFlag>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const { env, now } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const selection = await askedSelection(input, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const list = sortedBy(
    await deployments(
      { selection, limits },
      { access, now, cliVersion: clientVersion },
      signal,
    ).finally(end),
    flags.sortBy,
  );
  await print(
    {
      document: list,
      table: (wide) => deploymentsTable(list, wide, timesOf(flags, terminal)),
      names: list.items.map(({ cluster, namespace, name }) =>
        objectName(cluster, { namespace, type: "deployment.apps", name }),
      ),
      notes: deploymentNotes(list, askedOf(selection, flags)),
    },
    flags,
    terminal,
  );
  return deploymentsExitCode(list);
}
