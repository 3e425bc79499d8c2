import type { CommandEntry } from "../action.ts";
import { type CommandFlags, optionOf } from "./command-flags.ts";
import type { Arguments, CommandSpec } from "./command-spec.ts";
import {
  type CommonArgument,
  commonArguments,
  switchArgument,
  textArgument,
  type ToolSchema,
  wordsArgument,
} from "./tool-arguments.ts";

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

/** Declares a command. Parser, help, its page in docs/cli, completion and the tools for assistants follow from it. */
export function command<const Flags extends CommandFlags, Item>(
  spec: CommandSpec<Flags, Item>,
): CommandEntry {
  const { args, options, document, tool, needsFleet, asksNobody } = spec;
  return {
    ...spec,
    args: args.usage,
    options: Object.values(options).map(optionOf),
    kind: document,
    completes: args.completes,
    ...(needsFleet === undefined && asksNobody !== true ? { readsBundles: true } : {}),
    tool: tool && toolSchemaOf(args, tool, options),
    load: async () => {
      const { runCommand } = await import("./run-command.ts");
      return (input, signal) => runCommand(spec, input, signal);
    },
  };
}

function toolSchemaOf(
  { tool }: Arguments,
  common: readonly CommonArgument[],
  flags: CommandFlags,
): ToolSchema {
  const own = Object.entries(flags).flatMap(([name, flag]) => {
    if (flag.tool === undefined) return [];
    const { text, maxLength } = flag.tool;
    const { required } = optionOf(flag);
    return [[name, required ? textArgument(text, maxLength) : switchArgument(text)] as const];
  });
  const argument = tool?.isOne === true ? textArgument : wordsArgument;
  const names = tool === undefined ? [] : [[tool.name, argument(tool.text)] as const];
  const selecting = common.map((name) => [name, commonArguments[name]] as const);
  return {
    type: "object",
    properties: Object.fromEntries<object>([...names, ...selecting, ...own]),
    required: [
      ...(tool?.isRequired === true ? [tool.name] : []),
      ...(tool?.isOne === true ? ["namespace"] : []),
      ...Object.keys(flags).filter((name) => flags[name]?.tool?.isRequired === true),
    ],
    additionalProperties: false,
  };
}
