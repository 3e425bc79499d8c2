import { Command, type Option } from "commander";

import type { ActionInput, CommandEntry } from "./action.ts";
import { commandGroups, commandTable } from "./command-table.ts";
import { chunkSizeOption, commonOptions, connectionOptions } from "./common-options.ts";
import { UsageError } from "./errors.ts";
import { type Flags, givenFlags, type RawFlags, readFlags } from "./flags.ts";
import { type Examples, formatHelp, shortHelp } from "./help.ts";
import { isFormat } from "./output/output-format.ts";
import type { Output, Terminal } from "./output/terminal.ts";
import { withSettings } from "./settings/settings.ts";

const description =
  "Knative Serving and Eventing on a whole fleet of clusters: what the hub says, checked against what the spokes say.";

const programExamples: Examples = [
  ["kubectl knfleet status -A", "the whole fleet, worst first"],
  ["kubectl knfleet status ks/knative-serving -n team-a", "one installation"],
  ["kubectl knfleet status -A --no-live", "only what the hub says, without reaching any spoke"],
  ["kubectl knfleet deployments -A -o wide", "the Knative deployments of all spokes, with images"],
  ["kubectl knfleet version", "versions of this program, the hub and all installations"],
];

/** Runs the action of the chosen command. */
type Run = (entry: CommandEntry, input: ActionInput<object>) => Promise<number>;

/** Creates the parser with all commands. Parsing throws CommanderError and UsageError. */
export function createProgram(
  terminal: Terminal,
  run: Run,
  help: Output = terminal.stdout,
): Command {
  const program = new Command("kubectl knfleet")
    .description(description)
    .usage("COMMAND [flags]")
    .exitOverride()
    .configureOutput({ writeOut: (text) => help.write(text), writeErr: () => {} })
    .configureHelp({ formatHelp: formatHelp(programExamples) })
    .helpOption("-h, --help", "examples, flags and exit codes")
    .helpCommand("help [command]", "Help for a command");
  for (const option of [...commonOptions(), ...connectionOptions(), chunkSizeOption()])
    program.addOption(option);
  for (const { name, summary, text, examples } of commandGroups()) {
    program
      .command(name)
      .usage("COMMAND [flags]")
      .summary(summary)
      .description(text)
      .helpCommand(false)
      .configureHelp({ formatHelp: formatHelp(examples) });
  }
  for (const entry of commandTable()) {
    const [name = "", verb] = entry.name.split(" ");
    const group = program.commands.find((command) => command.name() === name);
    const command = (verb === undefined || group === undefined ? program : group)
      .command(verb ?? name)
      .usage(`${entry.args} [flags]`.trim())
      .summary(entry.summary)
      .description(entry.text)
      .configureHelp({
        showGlobalOptions: true,
        formatHelp: formatHelp(entry.examples, entry.exits),
      });
    if (/\.\.\.|^(?:CLUSTER|\[?SET|ks)/.test(entry.args)) command.argument("[names...]");
    for (const option of entry.options) command.addOption(option);
    command.action(async () => {
      const { file, ...typed } = splitOutputFile(program.opts<RawFlags>(), entry);
      const raw = await withSettings(typed, terminal.env);
      // `given` has only typed flags: a pasted command finds the others in the environment and the settings file.
      const read = {
        ...readFlags(raw, terminal.env, entry.formats),
        given: givenFlags(typed),
        ...(file === undefined ? {} : { outputFile: file }),
      };
      const flags = withNotes(await withRequestLog(read, terminal), entry, terminal);
      await run(entry, { args: command.args, flags, options: command.opts(), terminal });
    });
  }
  return program;
}

/** For a command that writes a file, a value of `-o` that is not a format is the name of the file. */
function splitOutputFile(
  raw: RawFlags,
  { writesFile }: CommandEntry,
): RawFlags & { readonly file?: string } {
  const { output = "", ...others } = raw;
  if (writesFile !== true || output === "" || isFormat(output)) return raw;
  return { ...others, file: output };
}

/** Logs requests on standard error with `-v=6` and more. */
async function withRequestLog(flags: Flags, { stderr }: Terminal): Promise<Flags> {
  if (flags.verbosity < 6) return flags;
  const { requestLog } = await import("./hub/request-log.ts");
  return { ...flags, onRequest: requestLog(stderr, flags.verbosity) };
}

const formatsForPeople = ["table", "wide"];

/** Adds notes on standard error, only for people. */
function withNotes(flags: Flags, { isForPrograms }: CommandEntry, { stderr }: Terminal): Flags {
  if (flags.quiet || isForPrograms === true || !formatsForPeople.includes(flags.output))
    return flags;
  return { ...flags, onNote: (line) => stderr.write(`${line}\n`) };
}

/** What a command line without a command prints: the help of the group that it names, or what bare `kubectl knfleet` prints. */
export function greeting(program: Command, args: readonly string[]): string {
  const groups = program.commands.filter(({ commands }) => commands.length > 0);
  const named = groups.find((group) => args.includes(group.name()));
  return named?.helpInformation() ?? shortHelp(description, programExamples);
}

/** The names of flags without a value. */
export function switchesOf(options: readonly Option[]): readonly string[] {
  return options
    .filter((option) => !option.required && !option.optional)
    .flatMap(({ short, long }) => [short, long].filter((name) => name !== undefined));
}

/**
 * Normalizes a command line for the parser. `-o=json` becomes `-o json`. `--quiet=true` becomes `--quiet`. `--quiet=false` becomes `--no-quiet` where that
 * flag exists, and disappears otherwise; `--no-x=false` becomes `--x` likewise. Arguments after `--` stay as they are. Throws UsageError.
 */
export function normalizedArgs(
  args: readonly string[],
  switches: readonly string[],
): readonly string[] {
  const end = args.indexOf("--");
  const flagsEnd = end < 0 ? args.length : end;
  const flags = args.slice(0, flagsEnd).flatMap((arg) => {
    const [, name = "", value = ""] = /^(-{1,2}[A-Za-z][\w-]*)=(.*)$/s.exec(arg) ?? [];
    if (switches.includes(name)) return switchOf(name, value, switches);
    return /^-[A-Za-z]$/.test(name) ? [name, value] : [arg];
  });
  return [...flags, ...args.slice(flagsEnd)];
}

function switchOf(name: string, value: string, switches: readonly string[]): readonly string[] {
  if (["true", "1", "t"].includes(value.toLowerCase())) return [name];
  if (["false", "0", "f"].includes(value.toLowerCase())) {
    const opposite = name.startsWith("--no-")
      ? name.replace("--no-", "--")
      : name.replace(/^--/, "--no-");
    return opposite !== name && switches.includes(opposite) ? [opposite] : [];
  }
  throw new UsageError(`Invalid value "${value}" for ${name}: want true or false`);
}
