import { cellText, type Cell, type Table } from "../../output/table.ts";
import { cutText, padText, widthOf, type Line, type Segment } from "./screen-text.ts";

const gap = 2;
/** A column that is cut keeps so many places. */
const shortest = 14;
/** Columns that a narrow screen goes without before anything is cut. */
const easilySpared = ["VERSION", "SINCE"];
/** And those that go when cutting is not enough, the first one first; what the selected row has there is shown below the table. */
const spared = ["NAMESPACE", "KIND", "REASON", "CLUSTER"];
/** Columns that may be cut, the first one first. */
const cut = ["REASON", "CLUSTER", "NAMESPACE", "NAME"];

/** A table as lines of a width, the headers first. */
export interface FittedTable {
  readonly header: Line;
  readonly rows: readonly Line[];
}

/** The table within a width: columns are left out, and long ones cut. Without any that may go, lines are longer. */
export function fitColumns(table: Table, width: number, end: string): FittedTable {
  const roomy = tried(table, easilySpared, (one) => totalOf(widthsOf(one)) <= width);
  const fitted = tried(roomy, spared, (one) => totalOf(cutWidths(one, width)) <= width);
  return linesOf(fitted, cutWidths(fitted, width), end);
}

/** The table without the first of these columns, until it fits. */
function tried(table: Table, headers: readonly string[], fits: (one: Table) => boolean): Table {
  return headers.reduce((one, header) => (fits(one) ? one : without(one, header)), table);
}

function without({ headers, rows }: Table, header: string): Table {
  const at = headers.indexOf(header);
  const isKept = (_: unknown, place: number): boolean => place !== at;
  return { headers: headers.filter(isKept), rows: rows.map((row) => row.filter(isKept)) };
}

function widthsOf({ headers, rows }: Table): readonly number[] {
  return headers.map((header, at) =>
    Math.max(header.length, ...rows.map((row) => widthOf(cellText(row[at] ?? "")))),
  );
}

function cutWidths(table: Table, width: number): readonly number[] {
  const { headers } = table;
  const widths = [...widthsOf(table)];
  for (const header of cut) {
    const at = headers.indexOf(header);
    const own = widths[at];
    if (own === undefined) continue;
    const over = totalOf(widths) - width;
    if (over > 0) widths[at] = Math.max(Math.min(own, shortest), own - over);
  }
  return widths;
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, gap * (widths.length - 1));
}

function linesOf({ headers, rows }: Table, widths: readonly number[], end: string): FittedTable {
  const lineOf = (cells: readonly Cell[]): Line =>
    cells.map((cell, at) => segmentOf(cell, { width: widths[at] ?? 0, at, end, cells }));
  return { header: lineOf(headers), rows: rows.map(lineOf) };
}

function segmentOf(
  cell: Cell,
  {
    width,
    at,
    end,
    cells,
  }: {
    readonly width: number;
    readonly at: number;
    readonly end: string;
    readonly cells: readonly Cell[];
  },
): Segment {
  const space = at === cells.length - 1 ? 0 : gap;
  const text = padText(cutText(cellText(cell), width, end), width) + " ".repeat(space);
  return typeof cell === "string" ? { text } : { text, tone: cell.tone };
}
