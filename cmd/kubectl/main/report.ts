import type { ExitCode } from "../errors.ts";
import type { Columns } from "../output/columns.ts";
import type { TimeText } from "../output/duration.ts";
import type { ExtraFormat } from "../output/output-format.ts";
import type { LiveReason } from "../output/own-reasons.ts";
import type { ReportError } from "../output/report.ts";
import type { Failure } from "../output/steps.ts";
import type { Table, Tone } from "../output/table.ts";

/** How texts of a report look on this terminal. */
export interface Looks {
  readonly isWide: boolean;
  readonly paint: (text: string, tone: Tone) => string;
  /** Width to cut texts to. Undefined: they stay whole. */
  readonly width: number | undefined;
  readonly isTerminal: boolean;
  /** Width of the terminal, also where texts stay whole. */
  readonly columns: number | undefined;
  readonly times: TimeText;
}

type Line<Item> = (item: Item, looks: Looks) => string;

/** What a command has found. It is printed in every format, and exit code, `complete` and notes follow from it. */
export interface Report<Item> {
  readonly items: readonly Item[];
  readonly summary: unknown;
  readonly errors: readonly ReportError[];
  /** Default: every error is about a name or a kind that does not exist. */
  readonly complete?: boolean;
  /** Fields of the document behind those that every document has. */
  readonly fields?: object;
  /** Default: 1 for a name or a kind that does not exist, 3 when the report is not complete. */
  readonly exitCode?: ExitCode;
  /** Text in front of the table. `items`: in the order of `--sort-by`. */
  readonly heading?: (looks: Looks, items: readonly Item[]) => string;
  /** Absent: the heading says everything. */
  readonly columns?: Columns<Item>;
  /** An item as a line with its end, in place of a row. */
  readonly line?: Line<Item>;
  /** Tables in place of one with `columns`, their rows as `--sort-by` wants them. `items`: in that order. */
  readonly tables?: (looks: Looks, items: readonly Item[]) => readonly Table[];
  /** Text behind the table. `items`: in the order of `--sort-by`. */
  readonly footer?: (looks: Looks, items: readonly Item[]) => string;
  /** The lines of `-o name` for an item; undefined: the item has none. Absent: the items have no names. */
  readonly name?: (item: Item) => string | readonly string[] | undefined;
  /** The path of `--sort-by` as it is written for this command. */
  readonly sortPath?: (path: string) => string;
  /** What formats that only this command has print. `items`: in the order of `--sort-by`. */
  readonly formats?: Readonly<Partial<Record<ExtraFormat, (items: readonly Item[]) => string>>>;
  /** Lines for people in front of the data: what makes the data doubtful. */
  readonly warnings?: readonly string[];
  /** Lines for people in front of the errors. `items`: in the order of `--sort-by`. */
  readonly notes?: (items: readonly Item[]) => readonly string[];
  /** How many clusters could not be read, for the heading of the errors. Default: as the summary says. */
  readonly counts?: ReadCounts;
  /** The notes tell the errors. */
  readonly tellsErrors?: true;
  /** False: errors come without advice. */
  readonly advises?: false;
  /** Lines for people behind the errors. `items`: in the order of `--sort-by`. */
  readonly next?: (items: readonly Item[]) => readonly string[];
  /** The version that has made the items, when a bundle has them from another one. Default: this one. */
  readonly cliVersion?: string;
  /** What the command fails with after the report is printed. */
  readonly failure?: Error;
  /** In a terminal, each report of `follow` takes the place of the one before; elsewhere one that looks the same is left out. */
  readonly redraws?: true;
  /** Goes on when the report is printed. With `-o json` there is one object a line. */
  readonly follow?: Follow<Item>;
}

/** Shows what has changed since the last report, until the signal of the command aborts. Resolves with the exit code. `tell`: for lines on standard error. */
export type Follow<Item> = (
  show: (changed: Report<Item>, headers: boolean) => Promise<void>,
  tell: (lines: readonly string[]) => void,
) => Promise<ExitCode>;

export interface ReadCounts {
  readonly clusters: number;
  readonly unread: number;
}

/** What a command prints in place of a report. */
export interface Answer {
  /** Standard output as it is. A long text comes in pieces. */
  readonly text?: string | Iterable<string>;
  /** Lines on standard error, unless --quiet. */
  readonly notes?: readonly string[];
  /** Why something was not done. With a reason, `-o json` and `yaml` print the document of a failed command. */
  readonly failures?: readonly (Failure & { readonly reason?: LiveReason })[];
  /** A text on standard error behind the failures, such as what a file has to hold. */
  readonly appendix?: string;
  /** An ExitCode, or that of another program. Default: 1 with failures, else 0. */
  readonly exitCode?: number;
}

/** An answer that says why nothing was done. `next`: commands without the flags for the hub. */
export function refusal(
  error: string,
  next: readonly string[],
  causes: readonly string[] = [],
): Answer {
  return { failures: [{ error, causes, next }] };
}
