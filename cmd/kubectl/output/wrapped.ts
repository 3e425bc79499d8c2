/**
 * A text in lines of a width, divided between words; all but the first begin with `indent` spaces. A word that is too long stays whole, so that it can be
 * copied. Without a width it is one line.
 */
export function wrapped(text: string, width: number | undefined, indent = 0): readonly string[] {
  if (width === undefined || text.length <= width) return [text];
  const lines: string[] = [];
  let [line = ""] = /^ */.exec(text) ?? [];
  for (const word of text.trimStart().split(" ")) {
    const isFirst = line.trim() === "";
    if (!isFirst && line.length + 1 + word.length > width) {
      lines.push(line);
      line = " ".repeat(indent) + word;
    } else line = isFirst ? line + word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** The width of a terminal; undefined for a pipe, whose lines are never divided. */
export function widthOf({
  isTTY,
  columns = 0,
}: {
  readonly isTTY?: boolean;
  readonly columns?: number;
}): number | undefined {
  return isTTY === true && columns > 0 ? columns : undefined;
}
