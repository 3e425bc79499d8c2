import { plainText } from "../../../api/foreign-text.ts";

/** What a cell means; shown as a colour only in addition to the words. */
export type Tone = "good" | "warning" | "bad";

/** One cell; a plain string has no tone. */
export type Cell =
  | string
  | { readonly text: string; readonly tone?: Tone; readonly indent?: number };

export interface Table {
  readonly headers: readonly string[];
  /** Headers of the columns that a terminal too narrow may cut, the first one first. */
  readonly mayShorten?: readonly string[];
  /** True: a terminal too narrow shows the texts of the last column in several lines instead. */
  readonly wraps?: boolean;
  readonly rows: readonly (readonly Cell[])[];
}

export interface TableOptions {
  readonly headers: boolean;
  readonly paint: (text: string, tone: Tone) => string;
}

/** Text of a table as kubectl writes it: left-aligned, three spaces between columns, no trailing spaces. */
export function renderTable(table: Table, { headers, paint }: TableOptions): string {
  const lines = [...(headers ? [table.headers] : []), ...table.rows].map((row) => row.map(fieldOf));
  // A row of one cell is a line of text below another row.
  const rows = lines.filter((line) => line.length > 1 || table.headers.length === 1);
  const widths = table.headers.map((_, at) =>
    Math.max(0, ...rows.map((line) => line[at]?.text.length ?? 0)),
  );
  return lines
    .map((line) => `${line.map((field, at) => pad(field, padding(line, at))).join("   ")}\n`)
    .join("");

  function padding(line: readonly Field[], at: number): number {
    return at === line.length - 1 ? 0 : (widths[at] ?? 0);
  }

  function pad({ text, tone }: Field, width: number): string {
    const shown = tone === undefined ? text : paint(text, tone);
    return shown + " ".repeat(Math.max(0, width - text.length));
  }
}

interface Field {
  readonly text: string;
  readonly tone?: Tone;
}

function fieldOf(cell: Cell): Field {
  const { text, tone, indent = 0 } = typeof cell === "string" ? { text: cell } : cell;
  const shown = " ".repeat(indent) + plainText(text);
  return tone === undefined ? { text: shown } : { text: shown, tone };
}

/** What a cell shows. */
export function cellText(cell: Cell): string {
  return fieldOf(cell).text;
}

/** A value as a cell: `<none>` when it is missing or empty. */
export function orNone(value: string | null | undefined): string {
  return value === null || value === undefined || value === "" ? "<none>" : value;
}
