import type { Command, Help } from "commander";

import { optionGroups } from "./common-options.ts";
import { exitCodeMeanings, type OwnExitCodes } from "./exit-codes.ts";

/** Examples of a command: the line and its purpose. */
export type Examples = readonly (readonly [line: string, what: string])[];

/** Help as text: what the command does, examples, usage, commands, flags, exit codes. `exits`: those of the command itself. */
export function formatHelp(
  examples: Examples,
  exits: OwnExitCodes = {},
): (command: Command, helper: Help) => string {
  return (command, helper) =>
    [
      helper.commandDescription(command),
      section("Examples:", examples.map(([line, what]) => `  # ${what}\n  ${line}`).join("\n\n")),
      section("Usage:", `  ${helper.commandUsage(command)}`),
      section("Commands:", listed(commandsOf(command, helper))),
      section("Flags:", listed(flagsOf(ownOptions(command, helper), helper))),
      ...groupsOf(command, helper),
      section("Exit codes:", listed(Object.entries({ ...exitCodeMeanings, ...exits }))),
    ]
      .filter((part) => part !== "")
      .join("\n\n")
      .concat("\n");
}

/** The help of the program without a command: five examples, and the line for the full help. */
export function shortHelp(description: string, examples: Examples): string {
  const lines = examples.map(([line, what]) => [line, `# ${what}`] as const);
  return `${description}\n\n${listed(lines)}\n\nAll commands and flags: kubectl knfleet --help\n`;
}

/** The flags of the program by group. The help of a command only mentions the connection flags. */
function groupsOf(command: Command, helper: Help): readonly string[] {
  const isProgram = command.parent === null;
  const options = isProgram ? helper.visibleOptions(command) : helper.visibleGlobalOptions(command);
  const inGroup = (group: string): string =>
    section(
      group,
      listed(
        flagsOf(
          options.filter(({ helpGroupHeading }) => helpGroupHeading === group),
          helper,
        ),
      ),
    );
  return [
    inGroup(optionGroups.common),
    isProgram
      ? inGroup(optionGroups.connection)
      : "kubectl's connection flags, such as --context, --kubeconfig and --as, are in kubectl knfleet --help.",
  ];
}

function ownOptions(command: Command, helper: Help): ReturnType<Help["visibleOptions"]> {
  const groups: readonly (string | undefined)[] = Object.values(optionGroups);
  return helper
    .visibleOptions(command)
    .filter(({ helpGroupHeading }) => !groups.includes(helpGroupHeading));
}

type Pair = readonly [term: string, text: string];

function section(title: string, body: string): string {
  return body.trim() === "" ? "" : `${title}\n${body}`;
}

function listed(pairs: readonly Pair[]): string {
  const width = Math.max(0, ...pairs.map(([term]) => term.length));
  return pairs.map(([term, text]) => `  ${term.padEnd(width)}   ${text}`).join("\n");
}

function commandsOf(command: Command, helper: Help): readonly Pair[] {
  return helper
    .visibleCommands(command)
    .map((child) => [child.name(), helper.subcommandDescription(child)] as const);
}

function flagsOf(options: readonly Parameters<Help["optionTerm"]>[0][], helper: Help): Pair[] {
  return options.map((option) => [helper.optionTerm(option), helper.optionDescription(option)]);
}
