import { type Command, CommanderError, type Option } from "commander";

import { withTimeout } from "../../access/deadline.ts";
import type { ActionInput, CommandEntry } from "./action.ts";
import { commandTable } from "./command-table.ts";
import { type ExitCode, exitCodes } from "./errors.ts";
import { isForReading, isPaging, PagedOutput, withOutput } from "./output/paged-output.ts";
import type { Terminal } from "./output/terminal.ts";
import { createProgram, greeting, normalizedArgs, switchesOf } from "./program.ts";

/** The chosen command. */
interface Chosen {
  readonly entry: CommandEntry;
  readonly input: ActionInput<object>;
}

/**
 * Runs one `kubectl knfleet` command line, and returns its exit code. Never rejects: explains failures on standard error, and with `-o json` or `yaml` also in a
 * document. The signal aborts when the user interrupts. Then the known part is printed and the exit code is 130.
 */
export async function runCli(terminal: Terminal, signal: AbortSignal): Promise<number> {
  const [first, ...words] = terminal.args;
  if (first === "__complete" || first === "__completeWords") {
    const { runComplete } = await import("./commands/completion/run-complete.ts");
    await runComplete({ words, whole: first === "__completeWords" }, terminal, signal);
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
    const { bundle } = asked.flags;
    const input =
      bundle === undefined
        ? asked
        : await (await import("./bundle/on-bundle.ts")).onBundle(bundle, asked, entry);
    const deadline = deadlineOf({ entry, input }, signal);
    const action = await entry.load();
    const shown =
      isPaged && isForReading(entry, input)
        ? { ...input, terminal: withOutput(terminal, paged) }
        : input;
    exitCode = await action(shown, deadline);
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
    exitCode = await explain(error, { terminal, chosen }, signal);
  }
  return signal.aborted ? exitCodes.interrupted : exitCode;
}

/** A command that watches has no time limit without `--timeout`. */
function deadlineOf(
  { entry, input: { flags, options } }: Chosen,
  signal: AbortSignal,
): AbortSignal {
  const watches =
    ("watch" in options && options.watch === true) ||
    ("follow" in options && options.follow === true);
  if (entry.ownTimeout === true || (watches && !flags.timeoutGiven)) return signal;
  return withTimeout(flags.timeoutMs, signal);
}

function optionsOf(program: Command): readonly Option[] {
  return [...program.options, ...program.commands.flatMap(optionsOf)];
}

/** Checks templates before any request. */
async function checkTemplates({ flags }: ActionInput<object>): Promise<void> {
  const { output, template, sortBy } = flags;
  if (output.startsWith("jsonpath")) {
    (await import("./output/parse-jsonpath.ts")).parseTemplate(template);
  }
  if (output === "custom-columns") {
    (await import("./output/jsonpath.ts")).customColumns(template, []);
  }
  if (sortBy !== undefined) (await import("./output/parse-jsonpath.ts")).relaxedPath(sortBy);
}

async function explain(
  error: unknown,
  { terminal, chosen }: { readonly terminal: Terminal; readonly chosen: Chosen | undefined },
  signal: AbortSignal,
): Promise<ExitCode> {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.fine;
  if (signal.aborted) return exitCodes.interrupted;
  const { failureOf, failureReason } = await import("./failure.ts");
  const { commandsOf, renderFailure, withHubSteps } = await import("./output/steps.ts");
  const explained = failureOf(error, helpLine(terminal.args));
  const failure =
    chosen === undefined
      ? explained
      : withHubSteps(explained, commandsOf({ ...chosen.input.flags, bundle: undefined }));
  terminal.stderr.write(renderFailure(failure));
  const { kind } = chosen?.entry ?? {};
  if (chosen !== undefined && kind !== undefined && !isPrinted(error)) {
    const { printFailedReport } = await import("./action.ts");
    const report = { kind, reason: failureReason(error), message: failure.error };
    await printFailedReport(report, chosen.input);
  }
  return exitCodes.failed;
}

/** Whether the command printed its document before it failed. */
function isPrinted(error: unknown): boolean {
  return error instanceof Error && "isPrinted" in error && error.isPrinted === true;
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
