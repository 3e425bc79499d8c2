import { cellText, type Table } from "./table.ts";

const gap = 3;
const shortest = 12;

/**
 * The table within a width, if cutting the columns that may be cut is enough; what was cut ends with `…`. Only for terminals:
 * what is piped is never cut.
 */
export function fitTable(table: Table, width: number): Table {
  return (table.mayShorten ?? []).reduce((fitted, header) => {
    const widths = columnWidths(fitted);
    const total = widths.reduce((sum, one) => sum + one, gap * (widths.length - 1));
    const column = fitted.headers.indexOf(header);
    if (column < 0 || total <= width) return fitted;
    const room = Math.max(shortest, (widths[column] ?? 0) - (total - width));
    return { ...fitted, rows: fitted.rows.map((row) => row.map(cut(column, room))) };
  }, table);
}

function cut(column: number, room: number): (cell: Cell, at: number) => Cell {
  return (cell, at) => {
    const text = cellText(cell);
    if (at !== column || text.length <= room) return cell;
    const short = `${text.slice(0, room - 1)}…`;
    return typeof cell === "string" ? short : { ...cell, text: short };
  };
}

type Cell = Table["rows"][number][number];

function columnWidths({ headers, rows }: Table): readonly number[] {
  return headers.map((header, at) =>
    Math.max(header.length, ...rows.map((row) => cellText(row[at] ?? "").length)),
  );
}
