import { Option } from "commander";

import { several } from "../common-options.ts";
import { oneOf } from "../flags.ts";

/** A flag of one command. Parser, help, completion and the tools for assistants follow from it, and the type of its value. */
export interface CommandFlag<Value> {
  /** As help shows it, such as `-w, --watch` or `--since <duration>`. */
  readonly flags: string;
  readonly text: string;
  /** The value for `run`. `raw`: what the parser or a tool has given, undefined without the flag. Throws UsageError. */
  readonly read: (raw: unknown, flag: string) => Value;
  /** Can be given several times. */
  readonly repeats?: true;
  /** Help does not show it. */
  readonly isHidden?: true;
  /** A tool has an argument of this name. Absent: only people have the flag. */
  readonly tool?: {
    readonly text: string;
    readonly maxLength?: number;
    /** The tool demands the argument, also where people need not give the flag. */
    readonly isRequired?: boolean;
  };
}

export type CommandFlags = Readonly<Record<string, CommandFlag<unknown>>>;

/** The values of flags by name. */
export type ValuesOf<Flags extends CommandFlags> = {
  readonly [Name in keyof Flags]: Flags[Name] extends CommandFlag<infer Value> ? Value : never;
};

/** A flag without a value. */
export function toggle(flags: string, text: string): CommandFlag<boolean> {
  return { flags, text, read: (raw) => raw === true };
}

/** A flag `--no-NAME` for what is true without it. */
export function turnedOff(flags: string, text: string): CommandFlag<boolean> {
  return { flags, text, read: (raw) => raw !== false };
}

/** A flag with a text. */
export function worded(flags: string, text: string): CommandFlag<string | undefined> {
  return parsed(flags, text, (word) => word);
}

/** A flag with one of some words. */
export function chosen<Word extends string>(
  flags: string,
  text: string,
  words: readonly Word[],
): CommandFlag<Word | undefined> {
  return parsed(flags, text, (word, flag) => oneOf(word, words, flag));
}

/** A flag whose text has a meaning. `parse` throws UsageError with the name of the flag. */
export function parsed<Value>(
  flags: string,
  text: string,
  parse: (word: string, flag: string) => Value,
): CommandFlag<Value | undefined> {
  return {
    flags,
    text,
    read: (raw, flag) => (typeof raw === "string" ? parse(raw, flag) : undefined),
  };
}

/** The flag, for tools as well. `text`: what the tool says of it, if not what help says. */
export function forTools<Value>(
  flag: CommandFlag<Value>,
  text = flag.text,
  maxLength?: number,
): CommandFlag<Value> {
  return { ...flag, tool: maxLength === undefined ? { text } : { text, maxLength } };
}

/** The flag, without a line in help. */
export function hidden<Value>(flag: CommandFlag<Value>): CommandFlag<Value> {
  return { ...flag, isHidden: true };
}

/** The flag for the parser and for help. */
export function optionOf({ flags, text, repeats, isHidden }: CommandFlag<unknown>): Option {
  const option = new Option(flags, text).hideHelp(isHidden === true);
  return repeats === true ? option.argParser(several) : option;
}

/** The checked values of flags. Throws UsageError. */
export function valuesOf<Flags extends CommandFlags>(
  flags: Flags,
  raw: Readonly<Record<string, unknown>>,
): ValuesOf<Flags>;
export function valuesOf(
  flags: CommandFlags,
  raw: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const values = Object.entries(flags).map(([name, flag]) => {
    const option = optionOf(flag);
    return [name, flag.read(raw[option.attributeName()], option.long ?? name)] as const;
  });
  return Object.fromEntries(values);
}

/** The flag that selects installations by a file. `flags`: another spelling where `-f` means something else. */
export function filenameFlag(flags = "-f, --filename <file>"): CommandFlag<string | undefined> {
  return worded(flags, "the installations of a file of manifests, or of standard input (-)");
}

/** The flag of commands that read components from files. */
export function componentFilesFlag(): CommandFlag<readonly string[]> {
  return repeated("-f, --filename <file>", "file with components, - for standard input");
}

const severities = ["error", "warning", "never"] as const;

/** The lowest severity that makes the exit code 1. */
export type FailOn = (typeof severities)[number];

/** The flag for the lowest severity that makes the exit code 1. */
export function failOnFlag(): CommandFlag<FailOn | undefined> {
  return chosen(
    "--fail-on <severity>",
    "error|warning|never: what makes the exit code 1",
    severities,
  );
}

/** The flag of commands that run exec plugins for a report. */
export function execTimeoutFlag(): CommandFlag<string | undefined> {
  return worded("--exec-timeout <duration>", "time for the exec plugin (default 10s)");
}

/** The flag of commands that can work without spokes. `what`: the remaining output. */
export function noLiveFlag(what = "the hub's view"): CommandFlag<boolean> {
  const flag = turnedOff("--no-live", `only ${what}: no spoke is reached`);
  return forTools(flag, "False: only what the hub says; no cluster is read");
}

/** A flag that can be given several times. */
export function repeated(flags: string, text: string): CommandFlag<readonly string[]> {
  return {
    flags,
    text,
    read: (raw) => (Array.isArray(raw) ? raw.filter((one) => typeof one === "string") : []),
    repeats: true,
  };
}

/** The flag of commands that ask before a change. */
export function agreementFlag(text = "do not ask"): CommandFlag<boolean> {
  return toggle("--yes", text);
}

/** The flag for the kubeconfig of a cluster that is named by a context. */
export function fromKubeconfigFlag(): CommandFlag<string | undefined> {
  const text = "kubeconfig of the cluster (default: that of the hub)";
  return worded("--from-kubeconfig <file>", text);
}
