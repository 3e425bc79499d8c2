import { pageScript, pageStyle } from "../../../../cmd/kubectl/page/page-code.ts";
import type { RunText, runText } from "../run-text.ts";
import type { Formats } from "./golden-lines.ts";

/** Where a command is run: in a pipe, or in a terminal of some width and language. */
export type Looks = Pick<RunText, "columns" | "env"> & { readonly title: string };

export const pipe: Looks = { title: "in a pipe" };

export const widths: readonly Looks[] = [
  pipe,
  { title: "80 columns, no colour", columns: 80, env: { NO_COLOR: "1" } },
  { title: "120 columns, in colour", columns: 120 },
  { title: "120 columns, ASCII", columns: 120, env: { LANG: "C", TERM: "dumb" } },
];

/** The formats for people, and the looks of each. */
export function textFormats({
  fields: [one, other],
  named = true,
}: Formats): readonly (readonly [format: string, looks: readonly Looks[]])[] {
  const range = `{range .items[*]}{${one}} {${other}}{"\\n"}{end}`;
  return [
    ["table", widths],
    ["wide", widths.slice(0, 3)],
    ...(named ? [["name", [pipe]] as const] : []),
    [`jsonpath=${range}`, [pipe]],
    [`jsonpath-as-json={.items[*]${one}}`, [pipe]],
    [`custom-columns=ONE:${one},OTHER:${other}`, widths.slice(0, 2)],
  ];
}

/** The formats for programs, each in a file of its own. */
export function ownFormats({ formats = [] }: Formats): readonly string[] {
  return ["json", "yaml", ...formats];
}

/** A command line with all that it wrote, as golden files have it. */
export function sectionOf(
  line: readonly string[],
  { title }: Looks,
  ran: Awaited<ReturnType<typeof runText>>,
): string {
  const shown = line.map((word) => (/[\s{}*!,]/.test(word) ? `'${word}'` : word)).join(" ");
  return `$ kubectl knfleet ${shown}   # ${title}\n${textOf(ran)}`;
}

/** All that a command wrote, with its exit code. */
export function textOf({ stdout, stderr, exitCode }: Awaited<ReturnType<typeof runText>>): string {
  return `${stdout}--- stderr\n${stderr}--- exit code ${exitCode}\n`;
}

/** A text without what is of the machine that runs the tests, and without script and style of the page, which browser tests look at. */
export function withoutMachine(text: string): string {
  return text
    .replace(pageScript, "the script")
    .replace(pageStyle, "the style")
    .replaceAll(/'sha256-[^']+'/g, "'sha256-…'")
    .replaceAll(process.version, "v24.0.0")
    .replaceAll(`${process.platform}/${process.arch}`, "linux/x64");
}
