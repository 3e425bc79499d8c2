import type { Releases } from "../../../render/release/releases.ts";
import { openFoundReleases } from "../../open-releases.ts";
import type { ActionInput } from "../action.ts";
import { releaseFolders } from "../flags.ts";

/** Opens the releases when they are first wanted, once. Rejects with FleetError when there are none. */
export type OpenReleases = () => Promise<Releases>;

/** Returns a function for the releases that flags, environment and settings lead to. */
export function namedReleases(
  { flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">,
  signal: AbortSignal,
): OpenReleases {
  const onSlow = (line: string): void => {
    if (!flags.quiet) terminal.stderr.write(`${line}\n`);
  };
  const wanted = { ...releaseFolders(flags), environment: terminal.env, onSlow };
  let releases: Promise<Releases> | undefined;
  return () => (releases ??= openFoundReleases(wanted, signal));
}
