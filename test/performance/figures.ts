/** The middle value; the mean of the two middle ones when there is an even number. */
export function medianOf(values: readonly number[]): number {
  if (values.length === 0) throw new Error("There is no median of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}

/** Rows as text: columns as wide as their widest cell, three spaces between them, headers in upper case. */
export function tableOf(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headers.map((header) => header.toUpperCase()), ...rows];
  const widths = headers.map((_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

/** Milliseconds as seconds with two decimals: `0.53 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Bytes in thousands: `326 kB`. */
export function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1000)} kB`;
}

/** Bytes in millions, as memory is sold: `118 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(0)} MB`;
}
