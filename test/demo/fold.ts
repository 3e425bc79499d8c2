const hanging = "    ";

/**
 * Output of a command, so that no line is wider than `width`: a table is cut between its columns, the same for all rows, and the
 * rest of a row stands indented below it; other lines are broken at white space. What fits stays untouched.
 */
export function folded(output: string, width: number): readonly string[] {
  const lines = output.replace(/\n+$/, "").split("\n");
  if (lines.every((line) => line.length <= width)) return lines;
  let table: Table | undefined;
  return lines.flatMap((line, index) => {
    if (isHeader(line)) table = tableOf(line, lines.slice(index), width);
    // What follows a table need not be set off by a blank line.
    else if (table !== undefined && !isRow(line, table)) table = undefined;
    return table === undefined ? broken(line, width) : slices(line, table.cuts);
  });
}

interface Table {
  /** Where the columns begin, but for the first. */
  readonly starts: readonly number[];
  /** Those of them where rows are cut. */
  readonly cuts: readonly number[];
}

function isHeader(line: string): boolean {
  return /^[A-Z][A-Z0-9 ()/-]*$/.test(line) && line.includes("  ");
}

function isRow(line: string, { starts }: Pick<Table, "starts">): boolean {
  return line.trim() !== "" && starts.every((start) => line.slice(start - 2, start).trim() === "");
}

/** The table that begins with a header, cut so that each piece of every row fits. */
function tableOf(header: string, lines: readonly string[], width: number): Table {
  const starts = Array.from(header.matchAll(/(?<=\s{2})\S/g), (match) => match.index);
  const end = lines.findIndex((line) => !isRow(line, { starts }));
  const rows = lines.slice(0, end < 0 ? undefined : end);
  const widest = Math.max(...rows.map(({ length }) => length));
  const cuts: number[] = [];
  let pieceStart = 0;
  for (const [index, start] of starts.entries()) {
    const columnEnd = (starts[index + 1] ?? widest + 2) - 2;
    const indent = pieceStart === 0 ? 0 : hanging.length;
    if (columnEnd - pieceStart + indent > width) {
      cuts.push(start);
      pieceStart = start;
    }
  }
  return { starts, cuts };
}

function slices(line: string, cuts: readonly number[]): readonly string[] {
  const bounds = [0, ...cuts, line.length];
  return bounds
    .slice(0, -1)
    .map((start, index) => line.slice(start, bounds[index + 1]).trimEnd())
    .flatMap((piece, index) => (index === 0 ? [piece] : piece === "" ? [] : [hanging + piece]));
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
