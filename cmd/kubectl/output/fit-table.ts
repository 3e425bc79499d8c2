import { cellText, type Cell, type Table } from "./table.ts";
import { wrapped } from "./wrapped.ts";

const gap = 3;
const shortest = 12;

/**
 * The table within a width, if cutting the columns that may be cut is enough; what was cut ends with `…`. Only for terminals:
 * what is piped is never cut.
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

// Less room than that makes columns of single words.
const leastRoom = 24;
const indent = 4;

/** The last column in several lines, or below its row where it has no room beside the others. */
function wrapTable(table: Table, width: number): Table {
  const widths = columnWidths(table);
  const total = widths.reduce((sum, one) => sum + one, gap * (widths.length - 1));
  if (total <= width) return table;
  const others = widths.slice(0, -1);
  const room = width - others.reduce((sum, one) => sum + one + gap, 0);
  const isBeside = room >= leastRoom;
  const rows = table.rows.flatMap((row): Cell[][] => {
    const [own, last] = [row.slice(0, -1), row.at(-1) ?? ""];
    const tone = typeof last === "string" ? {} : { tone: last.tone };
    const [first = "", ...more] = wrapped(cellText(last), isBeside ? room : width - indent);
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
    if (at !== column || text.length <= room) return cell;
    const short = `${text.slice(0, room - 1)}…`;
    return typeof cell === "string" ? short : { ...cell, text: short };
  };
}

function columnWidths({ headers, rows }: Table): readonly number[] {
  return headers.map((header, at) =>
    Math.max(header.length, ...rows.map((row) => cellText(row[at] ?? "").length)),
  );
}
