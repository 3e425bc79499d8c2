import { parseArgs } from "node:util";

/**
 * Runs a program that brings generated files up to date: with `--check` it only says whether they are, with `--help` it says how it is called.
 * `bringUpToDate` returns what it did, as a sentence, and throws when it was only to check and they are not.
 */
export async function runGenerator(
  usage: string,
  bringUpToDate: (onlyCheck: boolean) => Promise<string>,
): Promise<void> {
  try {
    const { values } = parseArgs({
      options: {
        check: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    process.stdout.write(values.help ? usage : `${await bringUpToDate(values.check)}\n`);
  } catch (error) {
    process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
