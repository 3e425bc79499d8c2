import { type Command, CommanderError, type Option } from "commander";

import type { ActionInput, CommandEntry } from "./action.ts";
import { commandTable } from "./command-table.ts";
import { exitCodes } from "./errors.ts";
import { cleanTerminal } from "./output/clean-terminal.ts";
import { isForReading, isPaging, PagedOutput, withOutput } from "./output/paged-output.ts";
import type { Terminal } from "./output/terminal.ts";
import { createProgram, greeting, normalizedArgs, switchesOf } from "./program.ts";
import { type Chosen, explainFailure, runAction } from "./run-action.ts";

/**
 * Runs one `kubectl knfleet` command line, and returns its exit code. Never rejects: explains failures on standard error, and with `-o json` or `yaml` also in a
 * document. The signal aborts when the user interrupts. Then the known part is printed and the exit code is 130.
 */
export async function runCli(process: Terminal, signal: AbortSignal): Promise<number> {
  const terminal = cleanTerminal(process);
  const [first, ...words] = terminal.args;
  if (first === "__complete") {
    const { runComplete } = await import("./completion/run-complete.ts");
    await runComplete(words, terminal, signal);
    return exitCodes.fine;
  }
  let exitCode: number = exitCodes.fine;
  let chosen: Chosen | undefined;
  const paged = new PagedOutput(terminal);
  const isPaged = isPaging(terminal);
  const help = isPaged ? paged : terminal.stdout;
  const run = async (entry: CommandEntry, asked: ActionInput<object>): Promise<number> => {
    chosen = { entry, input: asked };
    await checkTemplates(asked);
    const shown =
      isPaged && isForReading(entry, asked)
        ? { ...asked, terminal: withOutput(terminal, paged) }
        : asked;
    exitCode = await runAction({ entry, input: shown }, signal);
    return exitCode;
  };
  const program = createProgram(terminal, run, help);
  try {
    const args = normalizedArgs(terminal.args, switchesOf(optionsOf(program)));
    await program.parseAsync([...args], { from: "user" }).finally(() => paged.show());
  } catch (error) {
    // `help COMMAND` has the same code, but has printed its help and succeeds.
    const isHelpMissing = error instanceof CommanderError && error.exitCode !== 0;
    if (isHelpMissing && error.code === "commander.help") {
      terminal.stdout.write(greeting(program, terminal.args));
      return exitCodes.fine;
    }
    const failed = { terminal, chosen, help: helpLine(terminal.args) };
    exitCode = await explainFailure(error, failed, signal);
  }
  return signal.aborted ? exitCodes.interrupted : exitCode;
}

function optionsOf(program: Command): readonly Option[] {
  return [...program.options, ...program.commands.flatMap(optionsOf)];
}

/** Checks templates before any request. */
async function checkTemplates({ flags }: ActionInput<object>): Promise<void> {
  const { output, template, sortBy } = flags;
  if (output.startsWith("jsonpath")) {
    (await import("./output/jsonpath-template.ts")).parseTemplate(template);
  }
  if (output === "custom-columns") {
    (await import("./output/jsonpath-template.ts")).customColumns(template, []);
  }
  if (sortBy !== undefined) (await import("./output/jsonpath.ts")).relaxedPath(sortBy);
}

/** The command line for the help of the command among the arguments, or of all commands. */
function helpLine(args: readonly string[]): string {
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  const names = commandTable().map(({ name }) => name.split(" "));
  const at = words.findIndex((word) => names.some(([first]) => first === word));
  const whole = names.find((name) => name.every((word, index) => words[at + index] === word));
  const name = (whole ?? words.slice(at, at + 1)).join(" ");
  return ["kubectl knfleet", ...(at < 0 ? [] : [name]), "--help"].join(" ");
}
