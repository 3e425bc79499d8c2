import { isRecord } from "../../../api/fields.ts";
import type { ActionInput, CommandEntry } from "../action.ts";
import { UsageError } from "../errors.ts";
import { humanDuration } from "../output/duration.ts";
import { words } from "../output/steps.ts";
import { readBundle } from "./read-bundle.ts";

/**
 * The same command line on a bundle in place of a fleet: `now` is the time at which the bundle was gathered, so that ages and times are
 * those of then, and standard error says how old it is. Throws UsageError.
 */
export async function onBundle<Options>(
  path: string,
  input: ActionInput<Options>,
  { name, readsBundles, needsFleet }: Pick<CommandEntry, "name" | "readsBundles" | "needsFleet">,
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
  const recorded = await readBundle(path);
  const { recordedAt } = recorded;
  // A document says by itself when its data were read.
  if (!flags.quiet && flags.output !== "json" && flags.output !== "yaml") {
    const age = humanDuration(terminal.now().getTime() - recordedAt.getTime());
    const at = recordedAt.toISOString().replace(/\.\d+Z$/, "Z");
    terminal.stderr.write(`Not live: ${path} was gathered ${age} ago, at ${at}.\n`);
  }
  const now = (): Date => recordedAt;
  // Nothing takes so long here that somebody wants to see how far it has come.
  const stderr = { write: (text: string) => terminal.stderr.write(text) };
  return { ...input, flags: { ...flags, recorded }, terminal: { ...terminal, now, stderr } };
}

function isFollowing(options: unknown): boolean {
  return isRecord(options) && (options["watch"] === true || options["follow"] === true);
}
