import type { Option } from "commander";

import { plainText } from "../../api/foreign-text.ts";
import { UsageError } from "./errors.ts";
import type { OwnExitCodes } from "./exit-codes.ts";
import type { Flags } from "./flags.ts";
import type { Examples } from "./help.ts";
import type { ToolSchema } from "./main/tool-arguments.ts";
import { inAscii, wantsAscii } from "./output/characters.ts";
import { timeText, type TimeText } from "./output/duration.ts";
import type { Asked } from "./output/notes.ts";
import { isDocument, type ExtraFormat, renderJson, renderYaml } from "./output/output-format.ts";
import type { LiveReason } from "./output/own-reasons.ts";
import { openProgress } from "./output/progress.ts";
import { codedError, type ReportError, reportOf, stampAt, withCodes } from "./output/report.ts";
import { commandsOf } from "./output/steps.ts";
import { fitTable, renderTable, type Table } from "./output/table.ts";
import { documentOutput, painterFor, type Terminal } from "./output/terminal.ts";
import { namespaceOf } from "./selection/hub-namespace.ts";
import { readNames, type Selection } from "./selection/selection.ts";
import type { ClusterAccess } from "./spokes/cluster-access.ts";
import type { ReadLimits } from "./spokes/read-clusters.ts";

/** The input of every action. */
export interface ActionInput<Options> {
  readonly args: readonly string[];
  readonly flags: Flags;
  /** Flags of this command only, not checked. */
  readonly options: Options;
  readonly terminal: Terminal;
}

/** Runs one command. Returns an ExitCode, or the exit code of another program. Throws errors that `failureOf` explains. */
export type Action<Options> = (input: ActionInput<Options>, signal: AbortSignal) => Promise<number>;

/** The installations that arguments and flags select. Throws UsageError. */
export function selectionOf(
  args: readonly string[],
  flags: Flags,
  access: Pick<ClusterAccess, "namespace">,
): Selection {
  const namespace = namespaceOf(flags, access);
  return {
    ...readNames(args),
    ...(namespace === undefined ? {} : { namespace }),
    ...(flags.selector === undefined ? {} : { labelSelector: flags.selector }),
    ...(flags.cluster === undefined ? {} : { cluster: flags.cluster }),
    ...(flags.on === undefined ? {} : { on: flags.on }),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    failed: flags.failed,
  };
}

/** The request of the user, for notes with commands that work when pasted. */
export function askedOf(selection: Selection, flags: Flags): Asked {
  return {
    commands: commandsOf(flags),
    recorded: flags.bundle !== undefined,
    ...(selection.namespace === undefined ? {} : { namespace: selection.namespace }),
    narrowed: isNarrowed(selection),
  };
}

/** Whether arguments and flags other than a namespace select some installations of many. */
export function isNarrowed({
  names,
  labelSelector,
  cluster,
  on,
  failed,
  reason,
}: Selection): boolean {
  const filters = [labelSelector, cluster, on, reason];
  return names.length > 0 || failed === true || filters.some((filter) => filter !== undefined);
}

/** The limits that the flags set. */
export function limitsOf(
  { concurrency, spokeTimeoutMs, failFast }: Flags,
  onProgress: ReadLimits["onProgress"],
): ReadLimits {
  return { concurrency, spokeTimeoutMs, failFast: failFast === true, onProgress };
}

/** Formats times for a table of this command line. */
export function timesOf({ absoluteTime }: Flags, { now }: Terminal): TimeText {
  return timeText(absoluteTime, now());
}

/** A report in each output format. */
export interface Rendering {
  readonly document: {
    readonly items: readonly unknown[];
    readonly errors?: readonly ReportError[];
    readonly complete?: boolean;
  };
  /** Lines in front of the table. */
  readonly heading?: string;
  /** Absent: the heading says everything. */
  readonly table?: (wide: boolean) => Table;
  /** Lines below the table. */
  readonly footer?: string;
  /** The lines of `-o name`. Absent: the items have no names. */
  readonly names?: readonly string[];
  /** Lines for standard error in front of the data: what makes the data doubtful. */
  readonly warnings?: readonly string[];
  /** Lines for standard error. */
  readonly notes: readonly string[];
}

/**
 * Prints a report: data on standard output, and notes on standard error except for documents. What the command has met of a wrong form is named in both. Throws
 * UsageError.
 */
export async function print(given: Rendering, flags: Flags, terminal: Terminal): Promise<void> {
  const { stdout, stderr, env } = terminal;
  const rendering = withMalformed(given, flags);
  const symbols = wantsAscii(env) ? inAscii : (text: string) => text;
  const text = await textOf(rendering, flags, terminal);
  const isSilent = flags.quiet || isDocument(flags);
  const write = (lines: readonly string[]): void => {
    if (!isSilent) stderr.write(symbols(lines.map((line) => `${line}\n`).join("")));
  };
  write(rendering.warnings ?? []);
  const isExact = isDocument(flags) || flags.output === "jsonpath";
  const output = isExact ? documentOutput(terminal) : stdout;
  if (text !== "") output.write(isDocument(flags) ? text : symbols(text));
  write(rendering.notes);
}

function withMalformed(rendering: Rendering, { malformed }: Flags): Rendering {
  const { document, notes } = rendering;
  const errors = malformed?.errors ?? [];
  // They are told here.
  malformed?.tell();
  if (errors.length === 0) return rendering;
  // gather writes them into the bundle, too.
  const known = new Set(document.errors?.map(({ message }) => message));
  const others = errors.filter(({ message }) => !known.has(message));
  const all = [...(document.errors ?? []), ...others];
  return {
    ...rendering,
    document: { ...document, errors: all, complete: false },
    notes: [...others.map(({ message }) => `error: ${plainText(message)}`), ...notes],
  };
}

async function textOf(rendering: Rendering, flags: Flags, terminal: Terminal): Promise<string> {
  const document = withCodes(rendering.document);
  const { output, template } = flags;
  if (output === "json") return renderJson(document);
  if (output === "yaml") return await renderYaml(document);
  if (output === "name") return namesText(rendering);
  if (output === "jsonpath" || output === "jsonpath-as-json") {
    return (await import("./output/jsonpath-template.ts")).renderJsonPath(
      document,
      template,
      output,
    );
  }
  if (output === "custom-columns") {
    const { customColumns } = await import("./output/jsonpath-template.ts");
    return tableText(customColumns(template, document.items), flags, terminal);
  }
  const { heading = "", table, footer = "" } = rendering;
  const rows = table === undefined ? "" : tableText(table(output === "wide"), flags, terminal);
  return `${heading}${rows}${footer}`;
}

function namesText({ names }: Rendering): string {
  if (names === undefined) throw new UsageError("-o name: what this command prints has no names");
  return names.map((name) => `${plainText(name)}\n`).join("");
}

/** Renders a table for standard output: on a terminal in colour and within its width, elsewhere whole. */
export function tableText(table: Table, flags: Flags, terminal: Terminal): string {
  if (table.rows.length === 0) return "";
  const { stdout } = terminal;
  const isTerminal = stdout.isTTY === true;
  const paint = painterFor(terminal, flags.color);
  const { columns = 0 } = stdout;
  const fits = !isTerminal || columns === 0 || flags.output === "wide";
  return renderTable(fits ? table : fitTable(table, columns), { headers: flags.headers, paint });
}

/** The first word of several commands, as help shows it. */
export type CommandGroup = Pick<CommandEntry, "name" | "summary" | "text" | "examples">;

/** What a command says of itself for help, docs/cli and completion, and how it is run. */
export interface CommandTexts {
  /** One word, or the word of a group and its own. */
  readonly name: string;
  readonly summary: string;
  readonly text: string;
  /** What exit codes mean for it, where that says more than `exitCodeMeanings`. */
  readonly exits?: OwnExitCodes;
  readonly examples: Examples;
  /** Formats of `-o` besides those that every command has. */
  readonly formats?: readonly ExtraFormat[];
  /** Uses the pager on a terminal: always, or when one object is named. */
  readonly pages?: "always" | "one";
  /** The command applies `--timeout` itself. Absent: it is aborted after that time. */
  readonly ownTimeout?: true;
  /** Why the command does not work on a bundle. Absent: it does, or it reads no cluster. */
  readonly needsFleet?: string;
  /** A value of `-o` that is no format is the file to write: `outputFile` of the flags. */
  readonly writesFile?: true;
  /** The command is run by programs, without a person who reads notes. */
  readonly isForPrograms?: true;
}

/** What completion offers for arguments. */
export type Completed =
  | "installations"
  | "sets"
  | "waitedFor"
  | "components"
  | "clusters"
  | "contexts"
  | "reasons"
  | "kinds"
  | "commands"
  | "completions";

/** A command of the table, before its code is loaded: what the parser needs of a `CommandSpec`, without the types of its flags and its items. */
export interface CommandEntry extends CommandTexts {
  readonly args: string;
  readonly options: readonly Option[];
  /** `kind` of the JSON and YAML documents. Absent: the command prints no such documents. */
  readonly kind?: string;
  /** Absent: nothing is offered for arguments. */
  readonly completes?: Completed;
  /** The command also works on a bundle (`--bundle`). */
  readonly readsBundles?: true;
  /** Arguments of the tool for assistants. Absent: there is no tool. */
  readonly tool?: ToolSchema;
  readonly load: () => Promise<Action<object>>;
}

/** Prints the document of a failed command, for `-o json` and `yaml`: no items, one error, `summary` null. */
export async function printFailedReport(
  {
    kind,
    reason,
    message,
  }: { readonly kind: string; readonly reason: LiveReason; readonly message: string },
  { flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">,
): Promise<void> {
  if (flags.output !== "json" && flags.output !== "yaml") return;
  const document = reportOf(kind, stampAt(terminal.now()), {
    complete: false,
    summary: null,
    items: [],
    errors: [codedError({ reason, message: plainText(message), cluster: null })],
  });
  const text = flags.output === "json" ? renderJson(document) : await renderYaml(document);
  documentOutput(terminal).write(text);
}

/** Throws UsageError for flags that a command which prints without an end cannot obey; `flag` makes it such a command. */
export function checkStreamFlags(
  { output, sortBy }: Pick<Flags, "output" | "sortBy">,
  flag: string,
): void {
  if (!["table", "wide", "json"].includes(output)) {
    throw new UsageError(`With ${flag} there is no -o ${output}: want json, one object a line`);
  }
  if (sortBy !== undefined) throw new UsageError(`With ${flag} there is no --sort-by`);
}

/** The limits of reading many clusters, with their progress. */
export interface OpenReading {
  readonly limits: ReadLimits;
  /** Clears the progress line. */
  readonly end: () => void;
}

/** Opens the limits of a command line. Reads within them show their progress until `end`. */
export function openReading(
  flags: Flags,
  { stderr }: Pick<Terminal, "stderr">,
  noun?: string,
): OpenReading {
  const { update, end } = openProgress(flags.quiet ? undefined : stderr, flags, noun);
  return { limits: limitsOf(flags, update), end };
}
