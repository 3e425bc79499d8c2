import { type Cell, cellText, columnWidths, type Table, type Tone } from "../../output/table.ts";
import { cutText, padText, textWidth, wrapText } from "../../output/text-width.ts";

/** A piece of a line with one style. */
export interface Segment {
  readonly text: string;
  readonly tone?: Tone;
  /** The piece is where the user is. */
  readonly marked?: boolean;
}

export type Line = readonly Segment[];

/** The line within a width; a line that was cut ends with `end`. */
export function cutLine(line: Line, width: number, end: string): Line {
  if (line.reduce((sum, { text }) => sum + textWidth(text), 0) <= width) return line;
  let room = width;
  const kept: Segment[] = [];
  for (const segment of line) {
    const own = textWidth(segment.text);
    if (own > room - textWidth(end)) {
      return [...kept, { ...segment, text: cutText(segment.text + end, room, end) }];
    }
    kept.push(segment);
    room -= own;
  }
  return kept;
}

/** A text in lines of at most a width, broken at spaces if possible. A last column is continued below itself. */
export function wrapColumns(text: string, width: number): readonly string[] {
  return text.split("\n").flatMap((line) => wrapText(line, width, lastColumnOf(line, width), true));
}

const narrowest = 20;

/** Start of the last column of a line, which stands behind two spaces or more, if there is room for it. */
function lastColumnOf(line: string, width: number): number {
  if (width < narrowest) return 0;
  const [, before = ""] = /^(.* {2,})\S/.exec(line.slice(0, Math.floor(width * 0.6))) ?? [];
  return textWidth(before);
}

const gap = 2;
/** Least width of a column that is cut. */
const shortest = 14;
/** Columns that are left out on a narrow screen before any column is cut. */
const easilySpared = ["VERSION", "SINCE"];
/** Columns that are left out when cutting is not enough, in this order; their values in the selected row are shown below the table. */
const spared = ["NAMESPACE", "KIND", "REASON", "CLUSTER"];
/** Columns that may be cut, in this order. */
const cut = ["REASON", "CLUSTER", "NAMESPACE", "NAME"];

/** A table as lines of a width, the headers first. */
interface FittedTable {
  readonly header: Line;
  readonly rows: readonly Line[];
}

/** The table within a width: columns are left out, and long ones cut. Without any that may go, lines are longer. */
export function fitColumns(table: Table, width: number, end: string): FittedTable {
  const roomy = tried(table, easilySpared, (one) => totalOf(columnWidths(one)) <= width);
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

function cutWidths(table: Table, width: number): readonly number[] {
  const { headers } = table;
  const widths = [...columnWidths(table)];
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
    cells.map((cell, at) => {
      const width = widths[at] ?? 0;
      const space = at === cells.length - 1 ? 0 : gap;
      const text = padText(cutText(cellText(cell), width, end), width) + " ".repeat(space);
      return typeof cell === "string" ? { text } : { text, tone: cell.tone };
    });
  return { header: lineOf(headers), rows: rows.map(lineOf) };
}
