import { timestampOf } from "../../../api/conditions.ts";
import { isRecord } from "../../../api/fields.ts";
import type { ActionInput, CommandEntry } from "../action.ts";
import { UsageError } from "../errors.ts";
import { humanDuration } from "../output/duration.ts";
import { words } from "../output/steps.ts";
import { readBundle } from "./read-bundle.ts";

/**
 * Runs a command line on a bundle instead of a fleet. `now` is the time of the bundle, so that ages are those of that time. Standard error says how old the
 * bundle is. Throws UsageError, also when the signal ends the reading.
 */
export async function onBundle<Options>(
  input: ActionInput<Options>,
  {
    path,
    name,
    readsBundles,
    needsFleet,
  }: Pick<CommandEntry, "name" | "readsBundles" | "needsFleet"> & { readonly path: string },
  signal: AbortSignal,
): Promise<ActionInput<Options>> {
  if (readsBundles !== true) {
    const why = needsFleet ?? "it asks no cluster";
    throw new UsageError(`${name} does not work on a bundle: ${why}`, [
      "Give the same command without --bundle.",
      words("kubectl", "knfleet", "status", "-A", "--bundle", path),
    ]);
  }
  const { flags, options, terminal } = input;
  if (isFollowing(options)) throw new UsageError("A bundle does not change: it cannot be watched");
  const recorded = await readBundle(path, signal);
  const { recordedAt } = recorded;
  // A document has the time of its data.
  if (!flags.quiet && flags.output !== "json" && flags.output !== "yaml") {
    const age = humanDuration(terminal.now().getTime() - recordedAt.getTime());
    terminal.stderr.write(
      `Not live: ${path} was gathered ${age} ago, at ${timestampOf(recordedAt)}.\n`,
    );
  }
  const now = (): Date => recordedAt;
  // Without `isTTY`: reading a bundle is too fast for a progress line.
  const stderr = { write: (text: string) => terminal.stderr.write(text) };
  return { ...input, flags: { ...flags, recorded }, terminal: { ...terminal, now, stderr } };
}

function isFollowing(options: unknown): boolean {
  return isRecord(options) && (options["watch"] === true || options["follow"] === true);
}
