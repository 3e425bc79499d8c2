import { parseArgs } from "node:util";

/** Runs a program for developers: `--help` prints its usage, an error becomes one line and exit code 1. */
export async function runProgram(usage: string, work: () => Promise<void>): Promise<void> {
  try {
    if (process.argv.includes("--help")) process.stdout.write(usage);
    else await work();
  } catch (error) {
    process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * Runs a program that updates generated files. `update` returns a sentence about its result. With `--check` it writes nothing, and throws for files that are
 * out of date.
 */
export async function runGenerator(
  usage: string,
  update: (onlyCheck: boolean) => Promise<string>,
): Promise<void> {
  await runProgram(usage, async () => {
    const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
    process.stdout.write(`${await update(values.check)}\n`);
  });
}
