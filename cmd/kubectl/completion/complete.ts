import type { Option } from "commander";

import type { CommandEntry, CommandGroup } from "../action.ts";
import { outputFormats } from "../output/output-format.ts";

/** Numbers of cobra's protocol that say what a shell may do besides offering the words. */
export const directives = { noSpace: 2, noFiles: 4, files: 0 } as const;

type Names =
  | "installations"
  | "sets"
  | "waitedFor"
  | "stages"
  | "clusters"
  | "namespaces"
  | "contexts"
  | "reasons";

/** What can stand in a place: fixed words, or names to look up. */
export type Offer =
  | { readonly kind: "words"; readonly words: readonly Word[]; readonly directive: number }
  | {
      readonly kind: "names";
      readonly of: Names;
      readonly prefix: string;
    };

export type Word = readonly [word: string, description: string];

interface Commands {
  readonly entries: readonly CommandEntry[];
  readonly groups: readonly CommandGroup[];
  /** Flags of all commands. */
  readonly common: readonly Option[];
}

/** What can stand in place of the last word, which may be empty. Spec: cli.md, Conventions (completion). */
export function offerAt(typed: readonly string[], commands: Commands): Offer {
  const { common } = commands;
  const last = typed.at(-1) ?? "";
  const before = typed.slice(0, -1);
  const { entry, group } = commandOf(before, commands);
  const options = [...(entry?.options ?? []), ...common];
  if (before.includes("--")) return filesOnly;
  const flags = { options, formats: entry?.formats ?? [] };
  const ofFlag = flagOffer(last, before.at(-1) ?? "", flags);
  if (ofFlag !== undefined) return ofFlag;
  if (entry === undefined) return fixed(commandWords(commands, group), last);
  return argumentOffer(entry, last, commands);
}

interface Flagged {
  readonly options: readonly Option[];
  /** Formats of `-o` that only this command has. */
  readonly formats: readonly string[];
}

/** The offer for a flag or for the value of one; undefined where an argument stands. */
function flagOffer(last: string, before: string, flagged: Flagged): Offer | undefined {
  const { options } = flagged;
  const [, flag, text = ""] = /^(--[\w-]+)=(.*)$/s.exec(last) ?? [];
  if (flag !== undefined) {
    return valueOffer(optionNamed(flag, options), { text, prefix: `${flag}=` }, flagged);
  }
  const waiting = optionNamed(before, options);
  if (waiting !== undefined && takesValue(waiting)) {
    return valueOffer(waiting, { text: last, prefix: "" }, flagged);
  }
  if (!last.startsWith("-")) return undefined;
  const shown = options.filter(({ hidden }) => !hidden);
  return fixed(
    shown.flatMap(({ long, description }): readonly Word[] =>
      long === undefined ? [] : [[long, description]],
    ),
    last,
  );
}

const filesOnly: Offer = { kind: "words", words: [], directive: directives.files };

/** The command among words, or the group while its second word is missing; values of flags are none. */
function commandOf(
  words: readonly string[],
  { entries, groups, common }: Commands,
): { readonly entry?: CommandEntry; readonly group?: string } {
  const options = [...common, ...entries.flatMap((entry) => entry.options)];
  const [first, second] = words.filter((word, at) => {
    const flag = optionNamed(words[at - 1] ?? "", options);
    return !word.startsWith("-") && !(flag !== undefined && takesValue(flag));
  });
  const entry = entries.find(({ name }) => name === first || name === `${first} ${second}`);
  if (entry !== undefined) return { entry };
  const group = groups.find(({ name }) => name === first);
  return group === undefined ? {} : { group: group.name };
}

function optionNamed(text: string, options: readonly Option[]): Option | undefined {
  return text.startsWith("-")
    ? options.find(({ short, long }) => short === text || long === text)
    : undefined;
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function valueOffer(
  option: Option | undefined,
  { text, prefix }: { readonly text: string; readonly prefix: string },
  { formats }: Flagged,
): Offer {
  const known = option === undefined ? undefined : optionValues[option.long ?? ""];
  if (known === undefined) return filesOnly;
  if (typeof known === "string") return { kind: "names", of: known, prefix };
  const own = option?.long === "--output" ? formats : [];
  const words = [...known, ...own].map((word): Word => [`${prefix}${word}`, ""]);
  const found = fixed(words, `${prefix}${text}`);
  // A format with a template continues after the `=`.
  const goesOn = found.words.some(([word]) => word.endsWith("="));
  return goesOn ? { ...found, directive: directives.noFiles + directives.noSpace } : found;
}

/** The words that commands begin with, or the second words of a group. */
function commandWords({ entries, groups }: Commands, group?: string): readonly Word[] {
  if (group !== undefined) {
    const own = entries.filter(({ name }) => name.startsWith(`${group} `));
    return own.map(({ name, summary }) => [name.slice(group.length + 1), summary] as const);
  }
  const single = entries.filter(({ name }) => !name.includes(" "));
  return [...single, ...groups].map(({ name, summary }) => [name, summary] as const);
}

function argumentOffer({ completes }: CommandEntry, last: string, commands: Commands): Offer {
  if (completes === undefined) return filesOnly;
  if (completes === "commands") return fixed(commandWords(commands), last);
  if (completes === "completions") return fixed(completionWords, last);
  if (completes === "kinds") return fixed(kindWords, last);
  if (completes === "components") return fixed(componentWords, last);
  return { kind: "names", of: completes, prefix: "" };
}

const completionWords: readonly Word[] = [
  ["kubectl", "the file that kubectl runs"],
  ["install", "put that file beside the plugin"],
];

const componentWords: readonly Word[] = [
  ["ks", "KnativeServing"],
  ["ke", "KnativeEventing"],
];

const kindWords: readonly Word[] = [
  "configmaps",
  "deployments",
  "events",
  "jobs",
  "namespaces",
  "pods",
  "services",
].map((word) => [word, ""] as const);

/** The words that start with the last word. */
export function fixed(
  words: readonly Word[],
  last: string,
): Extract<Offer, { readonly kind: "words" }> {
  return {
    kind: "words",
    words: words.filter(([word]) => word.startsWith(last)),
    directive: directives.noFiles,
  };
}

/** Output for the shell: a line for each word, its description after a tab, and the directive last. */
export function completionText(words: readonly Word[], directive: number): string {
  const lines = words.map(([word, description]) =>
    description === "" ? word : `${word}\t${description}`,
  );
  return [...lines, `:${directive}`].map((line) => `${line}\n`).join("");
}

/** What completion offers for the value of a flag; a flag that is not here takes a file or anything. */
const optionValues: Readonly<Record<string, readonly string[] | Names | undefined>> = {
  "--output": outputFormats.map((format) =>
    /^(?:jsonpath|custom)/.test(format) ? `${format}=` : format,
  ),
  "--color": ["auto", "always", "never"],
  "--fail-on": ["error", "warning", "never"],
  "--from": ["local", "controller-identity", "controller"],
  "--for": ["ready", "resolved", "deleted", "version=", "complete", "stage="],
  "--cluster": "clusters",
  "--set": "sets",
  "--stage": "stages",
  "--namespace": "namespaces",
  "--context": "contexts",
  "--from-context": "contexts",
  "--reason": "reasons",
};
