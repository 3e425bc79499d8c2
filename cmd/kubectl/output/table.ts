import { plainText, wholeWords } from "../../../api/foreign-text.ts";
import { cutText, padText, textWidth, wrapText } from "./text-width.ts";

/** The meaning of a cell, shown as a colour in addition to the words. */
export type Tone = "good" | "warning" | "bad";

/** One cell. A plain string has no tone. */
export type Cell =
  | string
  | { readonly text: string; readonly tone?: Tone; readonly indent?: number };

export interface Table {
  readonly headers: readonly string[];
  /** Headers of the columns that a narrow terminal may cut, in this order. */
  readonly mayShorten?: readonly string[];
  /** True: a narrow terminal wraps the texts of the last column instead. */
  readonly wraps?: boolean;
  readonly rows: readonly (readonly Cell[])[];
}

export interface TableOptions {
  readonly headers: boolean;
  readonly paint: (text: string, tone: Tone) => string;
}

/** Renders a table in the form of kubectl: left-aligned, three spaces between columns, no trailing spaces. */
export function renderTable(table: Table, { headers, paint }: TableOptions): string {
  const hasHeaders = headers && table.headers.some((header) => header !== "");
  const lines = [...(hasHeaders ? [table.headers] : []), ...table.rows].map((row) =>
    row.map(fieldOf),
  );
  // A row of one cell is a line of text below another row.
  const rows = lines.filter((line) => line.length > 1 || table.headers.length === 1);
  const widths = table.headers.map((_, at) =>
    Math.max(0, ...rows.map((line) => textWidth(line[at]?.text ?? ""))),
  );
  return lines
    .map((line) => `${line.map((field, at) => pad(field, padding(line, at))).join("   ")}\n`)
    .join("");

  function padding(line: readonly Field[], at: number): number {
    return at === line.length - 1 ? 0 : (widths[at] ?? 0);
  }

  function pad({ text, tone }: Field, width: number): string {
    const shown = tone === undefined ? text : paint(text, tone);
    return shown + padText(text, width).slice(text.length);
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

/** The shown text of a cell. */
export function cellText(cell: Cell): string {
  return fieldOf(cell).text;
}

/** A value as a cell: `<none>` when it is missing or empty. */
export function orNone(value: string | null | undefined): string {
  return value === null || value === undefined || value === "" ? "<none>" : value;
}

const gap = 3;
const shortest = 12;

/**
 * Fits a table into a width, as far as its columns may be cut. A cut text ends with `…`. Only for terminals: piped output is never cut.
 */
export function fitTable(table: Table, width: number): Table {
  if (table.wraps === true) return wrapTable(table, width);
  return (table.mayShorten ?? []).reduce((fitted, header) => {
    const widths = columnWidths(fitted);
    const total = widths.reduce((sum, one) => sum + one, gap * (widths.length - 1));
    const column = fitted.headers.indexOf(header);
    if (column < 0 || total <= width) return fitted;
    const room = Math.max(shortest, (widths[column] ?? 0) - (total - width));
    return { ...fitted, rows: fitted.rows.map((row) => row.map(cut(column, room))) };
  }, table);
}

// Less room would make a column of single words.
const minRoom = 24;
const indent = 4;

/** Wraps the last column, or moves it below its row where there is no room beside the others. */
function wrapTable(table: Table, width: number): Table {
  const widths = columnWidths(table);
  const total = widths.reduce((sum, one) => sum + one, gap * (widths.length - 1));
  if (total <= width) return table;
  const others = widths.slice(0, -1);
  const room = width - others.reduce((sum, one) => sum + one + gap, 0);
  const isBeside = room >= minRoom;
  const rows = table.rows.flatMap((row): Cell[][] => {
    const [own, last] = [row.slice(0, -1), row.at(-1) ?? ""];
    const tone = typeof last === "string" ? {} : { tone: last.tone };
    const [first = "", ...more] = wrapText(cellText(last), isBeside ? room : width - indent);
    if (!isBeside) return [own, ...[first, ...more].map((text) => [{ text, indent }])];
    const blank = own.map(() => "");
    return [
      [...own, { text: first, ...tone }],
      ...more.map((text) => [...blank, { text, ...tone }]),
    ];
  });
  return { headers: isBeside ? table.headers : table.headers.slice(0, -1), rows };
}

function cut(column: number, room: number): (cell: Cell, at: number) => Cell {
  return (cell, at) => {
    const text = cellText(cell);
    if (at !== column || textWidth(text) <= room) return cell;
    const short = `${wholeWords(text, cutText(text, room - 1, ""))}…`;
    return typeof cell === "string" ? short : { ...cell, text: short };
  };
}

/** The width of each column, as wide as its widest cell. */
export function columnWidths({ headers, rows }: Table): readonly number[] {
  return headers.map((header, at) =>
    Math.max(header.length, ...rows.map((row) => textWidth(cellText(row[at] ?? "")))),
  );
}
