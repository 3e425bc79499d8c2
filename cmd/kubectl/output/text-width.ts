import stringWidth from "string-width";

import { isCommand } from "./steps.ts";

/** Columns of a text in a terminal: two for East Asian letters and emoji, none for combining marks. */
export function textWidth(text: string): number {
  return stringWidth(text);
}

/** The text within a width; a text that was cut ends with `end`. No letter is divided from its marks, and no emoji is divided. */
export function cutText(text: string, width: number, end: string): string {
  if (textWidth(text) <= width) return text;
  return headOf(text, width - textWidth(end)) + end.slice(0, Math.max(0, width));
}

const letters = new Intl.Segmenter();

/** The longest beginning of a text that is within a width. */
function headOf(text: string, width: number): string {
  let used = 0;
  for (const { segment, index } of letters.segment(text)) {
    used += textWidth(segment);
    if (used > width) return text.slice(0, index);
  }
  return text;
}

/** The text with spaces up to a width. */
export function padText(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

/**
 * Wraps a text between words. Later lines start with `indent` spaces. A word that is too long stays whole, so that it can be copied; with `hard` it is divided,
 * so that no line is wider than the width. Without a width the result is one line.
 */
export function wrapText(
  text: string,
  width: number | undefined,
  indent = 0,
  hard = false,
): readonly string[] {
  if (width === undefined) return [text];
  const lines: string[] = [];
  let rest = text;
  while (textWidth(rest) > width) {
    const head = headOf(rest, width);
    const start = /^ */.exec(rest)?.[0].length ?? 0;
    const space = rest[head.length] === " " ? head.length : head.lastIndexOf(" ");
    // A place to divide: the last space that fits, else the end of the long word or of the line.
    const whole = hard ? Math.max(head.length, 1) : rest.indexOf(" ", Math.max(start, head.length));
    const end = space > start ? space : whole;
    if (end < 0) break;
    lines.push(rest.slice(0, end).trimEnd());
    rest = " ".repeat(indent) + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

/** Wraps the line of a step. A command stays one line, so that it can be pasted. */
export function wrappedStep(line: string, width: number | undefined): readonly string[] {
  const step = line.replace(/^ *(?:\d+\. |next(?: \([^)]*\))?: )?/, "");
  return isCommand(step) ? [line] : wrapText(line, width, line.startsWith(" ") ? 5 : 2);
}
