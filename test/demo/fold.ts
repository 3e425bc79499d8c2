const hanging = "    ";

/**
 * Output of a command, so that no line is wider than `width`: a table is cut between its columns, the same for all rows, and the
 * rest of a row stands indented below it; other lines are broken at white space. What fits stays untouched.
 */
export function folded(output: string, width: number): readonly string[] {
  const lines = output.replace(/\n+$/, "").split("\n");
  if (lines.every((line) => line.length <= width)) return lines;
  let cuts: readonly number[] = [];
  return lines.flatMap((line) => {
    // A blank line ends a table; the next one has columns of its own.
    if (line.trim() === "") cuts = [];
    else if (isHeader(line)) cuts = cutsOf(line, lines, width);
    return cuts.length > 0 ? slices(line, cuts) : broken(line, width);
  });
}

function isHeader(line: string): boolean {
  return /^[A-Z][A-Z0-9 ()/-]*$/.test(line) && line.includes("  ");
}

/** Where a table is cut so that each piece of every row fits; none when it fits whole. */
function cutsOf(header: string, lines: readonly string[], width: number): readonly number[] {
  const starts = Array.from(header.matchAll(/(?<=\s{2})\S/g), (match) => match.index);
  const from = lines.indexOf(header);
  const end = lines.indexOf("", from);
  const widest = Math.max(
    ...lines.slice(from, end < 0 ? undefined : end).map(({ length }) => length),
  );
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
  return cuts;
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
