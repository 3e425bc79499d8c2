import { wrapped } from "./paragraph.ts";

const hanging = "    ";

/**
 * Output of a command, so that no line is wider than `width`. A table goes without the columns that say least, and says so below; the last column stands
 * below its row when that is not enough. Other lines are broken at white space. What fits stays untouched.
 */
export function folded(output: string, width: number): readonly string[] {
  const lines = output.replace(/\n+$/, "").split("\n");
  const shown: string[] = [];
  for (let at = 0; at < lines.length;) {
    const table = tableAt(lines, at);
    const [line = ""] = table;
    const fits = table.every(({ length }) => length <= width);
    const isTable = isHeader(line);
    if (fits) shown.push(...table);
    else if (isTable) shown.push(...narrowed(table, width));
    else shown.push(...broken(line, width));
    at += table.length;
  }
  return shown;
}

/** The table that begins with a line, or the line alone. What follows a table need not be set off by a blank line. */
function tableAt(lines: readonly string[], at: number): readonly string[] {
  const header = lines[at] ?? "";
  if (!isHeader(header)) return [header];
  const starts = startsOf(header);
  const rest = lines.slice(at);
  const end = rest.findIndex((line) => !isRow(line, starts));
  return end < 0 ? rest : rest.slice(0, end);
}

function isHeader(line: string): boolean {
  return /^[A-Z][A-Z0-9 ()/-]*$/.test(line) && line.includes("  ");
}

/** Where the columns begin. */
function startsOf(header: string): readonly number[] {
  return [0, ...Array.from(header.matchAll(/(?<=\s{2})\S/g), (match) => match.index)];
}

function isRow(line: string, starts: readonly number[]): boolean {
  const gaps = starts.slice(1);
  return line.trim() !== "" && gaps.every((start) => line.slice(start - 2, start).trim() === "");
}

interface Column {
  readonly title: string;
  /** Title and cells, one for each line of the table. */
  readonly texts: readonly string[];
}

// The order of `kubectl knfleet top`, after the columns that a newcomer can do without.
const leastFirst = ["AGE", "SINCE", "UP-TO-DATE", "NAMESPACE", "VERSION", "KIND"];

function narrowed(table: readonly string[], width: number): readonly string[] {
  const columns = columnsOf(table);
  const empty = columns.filter(({ texts }) =>
    texts.slice(1).every((text) => text === "" || text === "<none>"),
  );
  const named = leastFirst.flatMap((title) => columns.filter((column) => column.title === title));
  const without = new Set<Column>();
  const kept = (): readonly Column[] => columns.filter((column) => !without.has(column));
  for (const column of [...empty, ...named]) {
    if (widthOf(kept()) <= width) break;
    without.add(column);
  }
  const titles = columns.filter((column) => without.has(column)).map(({ title }) => title);
  return [
    ...rowsOf(kept(), width).flatMap((line) => broken(line, width)),
    ...(titles.length === 0
      ? []
      : broken(`(a wider terminal also shows ${titles.join(", ")})`, width)),
  ];
}

function columnsOf(table: readonly string[]): readonly Column[] {
  const [header = ""] = table;
  const starts = startsOf(header);
  return starts.map((start, at) => {
    const texts = table.map((line) => line.slice(start, starts[at + 1]).trim());
    return { title: texts[0] ?? "", texts };
  });
}

const gap = "   ";

function widthOf(columns: readonly Column[]): number {
  const widths = columns.map(({ texts }) => widest(texts));
  return widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1));
}

function widest(texts: readonly string[]): number {
  return Math.max(...texts.map(({ length }) => length));
}

/** The lines of the columns; where these are too wide, the last one stands below its row. */
function rowsOf(columns: readonly Column[], width: number): readonly string[] {
  const fits = widthOf(columns) <= width;
  const beside = fits ? columns : columns.slice(0, -1);
  const below = fits ? undefined : columns.at(-1);
  const [{ texts: first } = { texts: [] }] = columns;
  return first.flatMap((_, row) => {
    const cells = beside.map(({ texts }) => (texts[row] ?? "").padEnd(widest(texts)));
    const last = wrapped(below?.texts[row] ?? "", width - hanging.length);
    return [cells.join(gap).trimEnd(), ...last.map((part) => hanging + part)];
  });
}

function broken(line: string, width: number): readonly string[] {
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    // Nothing but indent before the space: cutting there would never end.
    if (rest.slice(0, space).trim() === "") break;
    pieces.push(rest.slice(0, space).trimEnd());
    rest = hanging + rest.slice(space).trimStart();
  }
  return [...pieces, rest];
}
