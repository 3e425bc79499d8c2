import type { Command } from "commander";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { knfOf } from "../../../cmd/kubectl/output/knf-of.ts";
import { ownReasons } from "../../../cmd/kubectl/output/own-reasons.ts";
import { createProgram } from "../../../cmd/kubectl/program.ts";

/** The page with its generated parts made anew: those between `<!-- NAME: generated -->` and `<!-- /NAME -->`. */
export function withReference(page: string): string {
  const parts = { commands: commandsText(), flags: flagsText(), reasons: reasonsText() };
  return Object.entries(parts).reduce((text, [name, part]) => {
    const pattern = new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[^]*?(<!-- /${name} -->)`);
    if (!pattern.test(text)) throw new Error(`docs/cli.md has no place for ${name}`);
    return text.replace(pattern, (_, begin: string, end: string) => `${begin}\n${part}\n${end}`);
  }, page);
}

const output = { write: () => true };

function program() {
  const terminal = { args: [], env: {}, stdout: output, stderr: output, now: () => new Date() };
  return createProgram(terminal, () => Promise.resolve(0));
}

/** Help of every command, without what is the same for all of them. */
function commandsText(): string {
  const all = program();
  return commandTable()
    .map(({ name }) => {
      const help = commandAt(all, name.split(" "))?.helpInformation() ?? "";
      const own = help.split("\n\nCommon flags:")[0] ?? "";
      return `### ${name}\n\n\`\`\`text\n${own.trimEnd()}\n\`\`\`\n`;
    })
    .join("\n");
}

function commandAt(from: Command, words: readonly string[]): Command | undefined {
  return words.reduce<Command | undefined>(
    (command, word) => command?.commands.find((child) => child.name() === word),
    from,
  );
}

function flagsText(): string {
  const help = program().helpInformation();
  const from = help.indexOf("Common flags:");
  return `\`\`\`text\n${help.slice(from, help.indexOf("Exit codes:")).trimEnd()}\n\`\`\`\n`;
}

function reasonsText(): string {
  const rows = Object.entries(ownReasons).map(
    ([name, meaning]) => [`\`${name}\``, knfOf(name) ?? "", meaning] as const,
  );
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[], fill = " "): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0, fill)).join(" | ")} |\n`;
  return [
    line(["reason", "number", "meaning"]),
    line(["", "", ""], "-"),
    ...rows.map((row) => line(row)),
  ].join("");
}
