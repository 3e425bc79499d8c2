import type { Tone } from "../../output/table.ts";

/** A piece of a line that is shown in one way. */
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

/** Places that a text takes in a terminal: two for what East Asia writes and for pictures, none for accents on their own. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length;
  return Array.from(text).reduce((sum, letter) => sum + letterWidth(letter), 0);
}

function letterWidth(letter: string): number {
  if (none.test(letter)) return 0;
  return wide.test(letter) ? 2 : 1;
}

/** The text within a width; what was cut ends with `end`. */
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

/** The line within a width; what was cut ends with `end`. */
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

/** A text in lines of at most a width, broken at spaces where there are any; what begins in a column goes on there. */
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

/** Where the last column of a line begins, if that leaves room for it: behind two spaces or more. */
function lastColumnOf(line: string, width: number): number {
  if (width < narrowest) return 0;
  const [, before = ""] = /^(.* {2,})\S/.exec(line.slice(0, Math.floor(width * 0.6))) ?? [];
  return widthOf(before);
}
