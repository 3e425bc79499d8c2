import type { Narrator } from "./narrator.ts";
import { runProgram, type ProgramResult } from "./run-program.ts";
import type { Workbench } from "./workbench.ts";

export interface ShellDeps {
  readonly workbench: Pick<Workbench, "folder" | "environment">;
  readonly narrator: Pick<Narrator, "command" | "output">;
  readonly signal: AbortSignal;
}

/** Runs what a person would type. A command line is split at spaces; words with spaces are given as an array. */
export interface Shell {
  /** Shows the command and its output. Throws with the output when the exit code is not in `codes` (default 0). */
  show(command: string | readonly string[], codes?: readonly number[]): Promise<ProgramResult>;
  /** The same without showing anything. */
  quiet(command: string | readonly string[], codes?: readonly number[]): Promise<ProgramResult>;
}

/** A shell in the folder and with the environment of a workbench. */
export function openShell({ workbench, narrator, signal }: ShellDeps): Shell {
  const run = async (
    words: readonly string[],
    codes: readonly number[],
  ): Promise<ProgramResult> => {
    const { folder: cwd, environment } = workbench;
    const result = await runProgram(words, { cwd, environment, signal });
    if (codes.includes(result.code)) return result;
    const cause = new Error(result.output.trim() || "It printed nothing");
    throw new Error(`\`${words.join(" ")}\` ended with exit code ${result.code}`, { cause });
  };
  return {
    async show(command, codes = [0]) {
      const words = wordsOf(command);
      narrator.command(words);
      const result = await run(words, codes);
      if (result.output.trim() !== "") narrator.output(result.output);
      return result;
    },
    quiet: (command, codes = [0]) => run(wordsOf(command), codes),
  };
}

function wordsOf(command: string | readonly string[]): readonly string[] {
  return typeof command === "string" ? command.split(" ") : command;
}
