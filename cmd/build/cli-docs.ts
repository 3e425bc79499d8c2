import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { Help, type Option } from "commander";

import type { CommandEntry, CommandGroup } from "../kubectl/action.ts";
import { commandGroups, commandTable } from "../kubectl/command-table.ts";
import { commonOptions, connectionOptions } from "../kubectl/common-options.ts";
import { exitCodeMeanings } from "../kubectl/exit-codes.ts";
import type { Examples } from "../kubectl/help.ts";
import { knfOf } from "../kubectl/output/knf-of.ts";
import { ownReasons } from "../kubectl/output/own-reasons.ts";
import { markdownTable } from "./markdown-table.ts";
import { runGenerator } from "./run-program.ts";

const usage = `Usage: npm run cli-docs [-- --check]

Writes docs/cli.md and a page for each command below docs/cli from the commands. What stands outside of the marks \`<!-- NAME: … -->\` and
\`<!-- /NAME -->\` is written by hand, and stays.

  --check   only say whether they are up to date; exit code 1 when they are not
  --help
`;

const project = join(import.meta.dirname, "../..");

/** What somebody does with the commands, by their first words, in the order of the page. */
const work: Readonly<Record<string, string>> = {
  "See the fleet": "status top ui deployments workloads get tree events logs version",
  "Find out what is wrong": "diagnose explain check orphans can-i gather",
  "Look before a change": "plan diff render images",
  "Change the fleet": "rollout wait migrate",
  "Add and reach clusters": "register unregister connect kubeconfig credential",
  "Use it from other programs": "completion mcp",
};

/** The flags of the first page. */
const everyday =
  "all-namespaces namespace selector cluster on failed reason output quiet bundle spoke-timeout timeout context";

/** Made parts of a page, by the name in their marks. */
type Parts = Readonly<Record<string, string>>;

/** The made parts of all pages, by their paths. */
function partsOfPages(): ReadonlyMap<string, Parts> {
  const flags = [...commonOptions(), ...connectionOptions()];
  return new Map<string, Parts>([
    [
      "docs/cli.md",
      {
        commands: overview(),
        flags: listOfFlags(everyday.split(" ").map((name) => flagOf(`--${name}`, flags))),
        codes: listOfCodes(exitCodeMeanings),
      },
    ],
    [
      "docs/cli/flags.md",
      { common: listOfFlags(commonOptions()), connection: listOfFlags(connectionOptions()) },
    ],
    ["docs/cli/output.md", { reasons: tableOfReasons() }],
    ...commandGroups().map((group) => [pathOf(group), { command: groupText(group) }] as const),
    ...commandTable().map(
      (entry) =>
        [pathOf(entry), { command: commandText(entry), reference: referenceOf(entry) }] as const,
    ),
  ]);
}

function flagOf(name: string, flags: readonly Option[]): Option {
  const flag = flags.find(({ long }) => long === name);
  if (flag === undefined) throw new Error(`cmd/build/cli-docs.ts: there is no ${name}`);
  return flag;
}

function fileOf({ name }: Pick<CommandEntry, "name">): string {
  return `${name.replaceAll(" ", "-")}.md`;
}

function pathOf(entry: Pick<CommandEntry, "name">): string {
  return `docs/cli/${fileOf(entry)}`;
}

function overview(): string {
  const alone = commandTable().filter(({ name }) => !name.includes(" "));
  const all = new Map([...alone, ...commandGroups()].map((one) => [one.name, one]));
  const placed = new Set(Object.values(work).flatMap((names) => names.split(" ")));
  const lost = placed.symmetricDifference(all);
  if (lost.size > 0) throw new Error(`cmd/build/cli-docs.ts: no work for ${[...lost].join(", ")}`);
  const sections = Object.entries(work).map(([title, names]) => {
    const lines = names.split(" ").flatMap((name) => all.get(name) ?? []);
    return `### ${title}\n\n${lines.map((one) => lineOf(one, "cli/")).join("\n")}`;
  });
  return sections.join("\n\n");
}

function lineOf(entry: Pick<CommandEntry, "name" | "summary">, folder = ""): string {
  return `- [${entry.name}](${folder}${fileOf(entry)}): ${markdown(entry.summary)}`;
}

function groupText({ name, text, examples }: CommandGroup): string {
  const members = commandTable().filter((entry) => entry.name.startsWith(`${name} `));
  const lines = members.map((entry) => lineOf(entry)).join("\n");
  return `${headOf(name, text, "COMMAND [flags]")}\n\n${lines}\n\n${examplesOf(examples)}`;
}

function commandText({ name, text, args, examples }: CommandEntry): string {
  return `${headOf(name, text, `${args} [flags]`.trim())}\n\n${examplesOf(examples)}`;
}

function headOf(name: string, text: string, args: string): string {
  const [last = "", ...group] = name.split(" ").toReversed();
  const above = ["[kubectl knfleet](../cli.md)", ...group.map((word) => `[${word}](${word}.md)`)];
  return `# ${above.join(" ")} ${last}\n\n${markdown(text)}\n\n\`\`\`text\nkubectl knfleet ${name} ${args}\n\`\`\``;
}

function examplesOf(examples: Examples): string {
  const lines = examples.map(([line, what]) => `# ${what}\n${line}`);
  return `## Examples\n\n\`\`\`sh\n${lines.join("\n\n")}\n\`\`\``;
}

function referenceOf(entry: CommandEntry): string {
  const flags = listOfFlags(entry.options);
  const codes = listOfCodes(entry.exits ?? {});
  const output = outputOf(entry);
  return [
    `## Flags\n\n${flags === "" ? "Those" : `${flags}\n\nAnd those`} of [every command](flags.md).`,
    `## Exit codes\n\n${codes === "" ? "Those" : `${codes}\n\nAll others are those`} of [every command](../cli.md#exit-codes).`,
    ...(output === "" ? [] : [`## Output and bundles\n\n${output}`]),
  ].join("\n\n");
}

/** What else is known of a command: its document, its formats, and whether it reads bundles and is a tool. */
function outputOf({ kind, formats, readsBundles, needsFleet, tool }: CommandEntry): string {
  const document = `\`-o json\` and \`-o yaml\` print a document of kind [\`${kind}\`](../schemas/v1/${kind}.json); [output.md](output.md#documents) says what all documents have.`;
  const own = formats?.map((format) => `\`-o ${format}\``).join(", ");
  return [
    ...(kind === undefined ? [] : [document]),
    ...(own === undefined ? [] : [`Formats of this command alone: ${own}.`]),
    ...(readsBundles ? ["`--bundle` reads what [gather](gather.md) has written."] : []),
    ...(needsFleet === undefined
      ? []
      : [`It does not read bundles (\`--bundle\`): ${markdown(needsFleet)}.`]),
    ...(tool === undefined ? [] : ["[mcp](mcp.md) offers it as a tool."]),
  ].join("\n");
}

function listOfFlags(options: readonly Option[]): string {
  const help = new Help();
  return options
    .filter(({ hidden }) => !hidden)
    .map((one) => `- \`${help.optionTerm(one)}\`: ${markdown(help.optionDescription(one))}`)
    .join("\n");
}

function listOfCodes(codes: Readonly<Record<string, string>>): string {
  return Object.entries(codes)
    .map(([code, meaning]) => `- \`${code}\`: ${markdown(meaning)}`)
    .join("\n");
}

function tableOfReasons(): string {
  const rows = Object.entries(ownReasons).map(
    ([name, meaning]) => [`\`${name}\``, knfOf(name) ?? "", markdown(meaning)] as const,
  );
  return markdownTable(["reason", "number", "meaning"], rows);
}

/** Text for a terminal as Markdown: what Markdown would read as marks is quoted, and pages of docs become links. */
function markdown(text: string): string {
  return text
    .split("`")
    .map((part, at) => (at % 2 === 1 ? part : quoted(part)))
    .join("`");
}

function quoted(text: string): string {
  return text
    .replaceAll(/[<*\\]/g, String.raw`\$&`)
    .replaceAll(/^(?=[#>+-] )/gm, "\\")
    .replaceAll(/\bdocs\/([\w-]+\.\w+)/g, "[$1](../$1)");
}

/** A page with its made parts. Throws a plain Error when it has no place for one. */
export function withParts(path: string, page: string, parts: Parts): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const place = new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[^]*?(<!-- /${name} -->)`);
    if (!place.test(text)) throw new Error(`${path} has no place for ${name}`);
    return text.replace(place, (_, begin: string, end: string) => `${begin}\n${part}\n\n${end}`);
  }, page);
}

/** A page that is not there yet. */
function emptyPage(parts: Parts): string {
  return Object.keys(parts)
    .map((name) => `<!-- ${name}: made by npm run cli-docs -->\n<!-- /${name} -->\n`)
    .join("\n");
}

/** The pages under `root` that are missing or not as the commands want them, as they have to be. Throws a plain Error for a page of a command that is gone. */
export async function stalePages(root: string): Promise<ReadonlyMap<string, string>> {
  const all = partsOfPages();
  const known = await readdir(join(root, "docs/cli")).catch(() => []);
  const paths = new Set([...all.keys(), ...known.map((name) => `docs/cli/${name}`)]);
  const compared = await Promise.all(
    [...paths].map(async (path) => {
      const found = await readFile(join(root, path), "utf8").catch(() => undefined);
      const parts = all.get(path) ?? {};
      if (!all.has(path) && found?.includes("<!-- command: ")) {
        throw new Error(`${path} is of no command: move its text, and delete it`);
      }
      const text = withParts(path, found ?? emptyPage(parts), parts);
      return text === found ? [] : [[path, text] as const];
    }),
  );
  return new Map(compared.flat());
}

if (import.meta.main)
  await runGenerator(usage, async (onlyCheck) => {
    const stale = await stalePages(project);
    const names = [...stale.keys()].join(", ");
    if (stale.size === 0) return "The pages of the commands are up to date";
    if (onlyCheck) throw new Error(`Out of date, run npm run cli-docs: ${names}`);
    await mkdir(join(project, "docs/cli"), { recursive: true });
    await Promise.all([...stale].map(([path, text]) => writeFile(join(project, path), text)));
    return `Wrote ${names}`;
  });
