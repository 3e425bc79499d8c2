import type { Releases } from "../../../render/release/releases.ts";
import { openFoundReleases } from "../../open-releases.ts";
import type { ActionInput } from "../action.ts";

/** Opens the releases that flags, environment and settings lead to. Throws FleetError when there are none. */
export async function openNamedReleases(
  { flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">,
  signal: AbortSignal,
): Promise<Releases> {
  const onSlow = (line: string): void => {
    if (!flags.quiet) terminal.stderr.write(`${line}\n`);
  };
  return await openFoundReleases(
    { named: flags.releaseDir, environment: terminal.env, onSlow },
    signal,
  );
}
