import { type Tone, cellText, type Cell, type Table } from "../../output/table.ts";

/** A piece of a line with one style. */
export interface Segment {
  readonly text: string;
  readonly tone?: Tone;
  /** The piece is where the user is. */
  readonly marked?: boolean;
}

export type Line = readonly Segment[];

const wide =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;
const narrow = /^[\u0020-\u007e]*$/;
const none = /[\p{M}\p{Cf}]/u;

/** Width of a text in a terminal: two columns for East Asian letters and emoji, none for combining accents. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length;
  return Array.from(text).reduce((sum, letter) => sum + letterWidth(letter), 0);
}

function letterWidth(letter: string): number {
  if (none.test(letter)) return 0;
  return wide.test(letter) ? 2 : 1;
}

/** The text within a width; a text that was cut ends with `end`. */
export function cutText(text: string, width: number, end: string): string {
  if (widthOf(text) <= width) return text;
  const room = Math.max(0, width - widthOf(end));
  return headOf(text, room) + end.slice(0, width);
}

function headOf(text: string, room: number): string {
  let used = 0;
  let head = "";
  for (const letter of text) {
    used += letterWidth(letter);
    if (used > room) break;
    head += letter;
  }
  return head;
}

/** The line within a width; a line that was cut ends with `end`. */
export function cutLine(line: Line, width: number, end: string): Line {
  if (line.reduce((sum, { text }) => sum + widthOf(text), 0) <= width) return line;
  let room = Math.max(0, width - widthOf(end));
  const kept: Segment[] = [];
  for (const segment of line) {
    const text = headOf(segment.text, room);
    room -= widthOf(text);
    kept.push({ ...segment, text });
    if (text !== segment.text) break;
  }
  return [...kept, { text: end.slice(0, width) }];
}

/** The text with spaces up to a width. */
export function padText(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** A text in lines of at most a width, broken at spaces if possible. A last column is continued below itself. */
export function wrapText(text: string, width: number): readonly string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, Math.max(1, width)));
}

function wrapLine(line: string, width: number): readonly string[] {
  const deep = " ".repeat(lastColumnOf(line, width));
  const lines: string[] = [];
  let rest = line;
  while (widthOf(rest) > width) {
    const head = headOf(rest, width) || rest.slice(0, 1);
    const space = rest[head.length] === " " ? head.length : head.lastIndexOf(" ");
    const end = space > deep.length ? space : head.length;
    lines.push(rest.slice(0, end).trimEnd());
    rest = deep + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

const narrowest = 20;

/** Start of the last column of a line, which stands behind two spaces or more, if there is room for it. */
function lastColumnOf(line: string, width: number): number {
  if (width < narrowest) return 0;
  const [, before = ""] = /^(.* {2,})\S/.exec(line.slice(0, Math.floor(width * 0.6))) ?? [];
  return widthOf(before);
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
