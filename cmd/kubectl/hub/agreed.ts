import { createInterface } from "node:readline/promises";

import type { Terminal } from "../output/terminal.ts";
import { UsageError } from "../usage-error.ts";

interface Agreement {
  /** `--yes` was given: nobody is asked. */
  readonly yes: boolean;
  /** False: `--no-input` was given. */
  readonly input: boolean;
}

/** Asks before something is changed. Throws UsageError when nobody is there to answer, or when the answer is not yes. */
export async function agreed(
  question: string,
  { yes, input }: Agreement,
  { stdin, stderr, env }: Terminal,
): Promise<void> {
  if (yes) return;
  const isInteractive = input && stderr.isTTY === true && (env["CI"] ?? "") === "";
  if (!isInteractive || stdin === undefined) {
    throw new UsageError(`${question} Nobody is there to agree`, [
      "Agree with --yes, in the same command.",
    ]);
  }
  stderr.write(`${question} Go on? [y/N] `);
  const lines = createInterface({ input: stdin });
  const answer = await lines.question("").finally(() => lines.close());
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new UsageError("Nothing was made");
}
