import type { CommandEntry } from "../action.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Examples } from "../help.ts";
import type { ExtraFormat } from "../output/output-format.ts";
import { type CommandFlags, optionOf, type ValuesOf } from "./command-flags.ts";
import type { Report, Stream } from "./report.ts";
import {
  commonArguments,
  switchArgument,
  textArgument,
  type ToolSchema,
  wordsArgument,
} from "./tool-arguments.ts";

/** The arguments behind the name of a command. */
export interface Arguments {
  /** As help shows them. */
  readonly usage: string;
  /** What completion offers. */
  readonly completes?: CommandEntry["completes"];
  /** They name installations, as `Fleet.installations` reads them. */
  readonly selects?: true;
  /** A tool has an argument of this name for them. */
  readonly tool?: { readonly name: string; readonly text: string; readonly isRequired?: true };
}

/** Arguments that name installations. */
export const installationNames: Arguments = {
  usage: "[TYPE[/NAME] | NAME...]",
  completes: "installations",
  selects: true,
  tool: {
    name: "names",
    text: "Installations: ks/NAME, ke/NAME or NAME; ks or ke alone for all of that kind",
  },
};

export const noArguments: Arguments = { usage: "" };

/** How installations are named, for the text of a command. */
export const namesText =
  "Names are ks/NAME, ke/NAME, KnativeServing/NAME or NAME; a type alone selects all of that type.";

/** A command in one piece. The code that does its work is imported in `run`. */
export interface CommandSpec<Flags extends CommandFlags, Item> {
  readonly name: string;
  readonly args: Arguments;
  readonly summary: string;
  readonly text: string;
  readonly examples: Examples;
  /** Its own flags by the name of the value: `spokeNamespace` for `--spoke-namespace`, `live` for `--no-live`. */
  readonly options: Flags;
  /** `kind` of its documents. */
  readonly document: string;
  /** Formats of `-o` that only some commands have. */
  readonly formats?: readonly ExtraFormat[];
  /** Arguments of the tool for assistants besides those of `args` and `options`. Absent: there is no tool. */
  readonly tool?: readonly (keyof typeof commonArguments)[];
  /** False: the hub alone is read. Default: as `--no-live` says, else true. */
  readonly reachesSpokes?: false;
  /** The time limit is that of the command itself. */
  readonly ownTimeout?: true;
  /** Why it does not work on a bundle. Absent: it does. */
  readonly needsFleet?: string;
  readonly run: (fleet: Fleet, options: ValuesOf<Flags>) => Promise<Report<Item> | Stream<Item>>;
}

/** Declares a command. Parser, help, docs/cli.md, completion and the tools for assistants follow from it. */
export function command<const Flags extends CommandFlags, Item>(
  spec: CommandSpec<Flags, Item>,
): CommandEntry {
  const { name, args, summary, text, examples, options, document, tool, needsFleet } = spec;
  return {
    name,
    args: args.usage,
    summary,
    text,
    examples,
    options: Object.values(options).map(optionOf),
    kind: document,
    ...(spec.formats === undefined ? {} : { formats: spec.formats }),
    ...(args.completes === undefined ? {} : { completes: args.completes }),
    ...(spec.ownTimeout === true ? { ownTimeout: true } : {}),
    ...(needsFleet === undefined ? { readsBundles: true } : { needsFleet }),
    ...(tool === undefined ? {} : { tool: toolSchemaOf(args, tool, options) }),
    load: async () => {
      const { runCommand } = await import("./run-command.ts");
      return (input, signal) => runCommand(spec, input, signal);
    },
  };
}

function toolSchemaOf(
  { tool }: Arguments,
  common: readonly (keyof typeof commonArguments)[],
  flags: CommandFlags,
): ToolSchema {
  const own = Object.entries(flags).flatMap(([name, flag]) => {
    if (flag.tool === undefined) return [];
    const { text, maxLength } = flag.tool;
    const { required } = optionOf(flag);
    return [[name, required ? textArgument(text, maxLength) : switchArgument(text)] as const];
  });
  const names = tool === undefined ? [] : [[tool.name, wordsArgument(tool.text)] as const];
  const selecting = common.map((name) => [name, commonArguments[name]] as const);
  return {
    type: "object",
    properties: Object.fromEntries<object>([...names, ...selecting, ...own]),
    required: tool?.isRequired === true ? [tool.name] : [],
    additionalProperties: false,
  };
}
