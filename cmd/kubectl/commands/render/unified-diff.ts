/** A text with its name, for the two lines at the head of a diff; an absent text has none. */
interface DiffSide {
  readonly name: string;
  readonly text: string | undefined;
}

const context = 3;
// Beyond this many steps the middle part is shown as replaced; the texts of one object are far below.
const mostSteps = 2_000;

type Edit = readonly [mark: " " | "-" | "+", line: string];

/** A unified diff as `diff -u` writes it; empty when the texts are equal. */
export function unifiedDiff(left: DiffSide, right: DiffSide): string {
  if (left.text === right.text) return "";
  const edits = editsOf(linesOf(left.text), linesOf(right.text));
  const heads = [`--- ${headOf(left)}`, `+++ ${headOf(right)}`];
  return [...heads, ...hunksOf(edits)].map((line) => `${line}\n`).join("");
}

function headOf({ name, text }: DiffSide): string {
  return text === undefined ? "/dev/null" : name;
}

function linesOf(text: string | undefined): readonly string[] {
  if (text === undefined || text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

function editsOf(left: readonly string[], right: readonly string[]): readonly Edit[] {
  let start = 0;
  while (start < Math.min(left.length, right.length) && left[start] === right[start]) start += 1;
  let end = 0;
  const most = Math.min(left.length, right.length) - start;
  while (end < most && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const middle = {
    left: left.slice(start, left.length - end),
    right: right.slice(start, right.length - end),
  };
  return [
    ...left.slice(0, start).map(kept),
    ...shortestEdits(middle),
    ...left.slice(left.length - end).map(kept),
  ];
}

/** How far one diagonal was followed, and the edits that lead there, last one first. */
interface Reached {
  readonly x: number;
  readonly edits: Chain | undefined;
}

interface Chain {
  readonly edit: Edit;
  readonly before: Chain | undefined;
}

interface Lines {
  readonly left: readonly string[];
  readonly right: readonly string[];
}

/** E. W. Myers, An O(ND) Difference Algorithm. */
function shortestEdits({ left, right }: Lines): readonly Edit[] {
  const reached = new Map<number, Reached>();
  for (let step = 0; step <= Math.min(mostSteps, left.length + right.length); step += 1) {
    for (let diagonal = -step; diagonal <= step; diagonal += 2) {
      const next = slid(stepped(reached, diagonal, { left, right }), diagonal, { left, right });
      if (next.x >= left.length && next.x - diagonal >= right.length) return listed(next.edits);
      reached.set(diagonal, next);
    }
  }
  return [...left.map(removed), ...right.map(added)];
}

/** One line removed or added, whichever gets further. */
function stepped(
  reached: ReadonlyMap<number, Reached>,
  diagonal: number,
  { left, right }: Lines,
): Reached {
  const above = reached.get(diagonal + 1);
  const beside = reached.get(diagonal - 1);
  if (above !== undefined && (beside === undefined || beside.x < above.x)) {
    const edit = added(right[above.x - diagonal - 1] ?? "");
    return { x: above.x, edits: { edit, before: above.edits } };
  }
  if (beside === undefined) return { x: 0, edits: undefined };
  const edit = removed(left[beside.x] ?? "");
  return { x: beside.x + 1, edits: { edit, before: beside.edits } };
}

/** Equal lines cost nothing. */
function slid(from: Reached, diagonal: number, { left, right }: Lines): Reached {
  let { x, edits } = from;
  while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) {
    edits = { edit: kept(left[x] ?? ""), before: edits };
    x += 1;
  }
  return { x, edits };
}

function listed(edits: Chain | undefined): readonly Edit[] {
  const found: Edit[] = [];
  for (let at = edits; at !== undefined; at = at.before) found.push(at.edit);
  return found.toReversed();
}

function kept(line: string): Edit {
  return [" ", line];
}

function removed(line: string): Edit {
  return ["-", line];
}

function added(line: string): Edit {
  return ["+", line];
}

function hunksOf(edits: readonly Edit[]): readonly string[] {
  const shown = new Set<number>();
  for (const [index, [mark]] of edits.entries()) {
    if (mark === " ") continue;
    for (let near = index - context; near <= index + context; near += 1) shown.add(near);
  }
  const lines: string[] = [];
  let [leftLine, rightLine] = [1, 1];
  let hunk: Edit[] = [];
  const flush = (): void => {
    if (hunk.length > 0) lines.push(...hunkLines(hunk, leftLine, rightLine));
    leftLine += hunk.filter(([mark]) => mark !== "+").length;
    rightLine += hunk.filter(([mark]) => mark !== "-").length;
    hunk = [];
  };
  for (const [index, edit] of edits.entries()) {
    if (shown.has(index)) {
      hunk.push(edit);
      continue;
    }
    flush();
    leftLine += 1;
    rightLine += 1;
  }
  flush();
  return lines;
}

function hunkLines(hunk: readonly Edit[], leftLine: number, rightLine: number): readonly string[] {
  const left = hunk.filter(([mark]) => mark !== "+").length;
  const right = hunk.filter(([mark]) => mark !== "-").length;
  return [
    `@@ -${rangeOf(leftLine, left)} +${rangeOf(rightLine, right)} @@`,
    ...hunk.map(([mark, line]) => `${mark}${line}`),
  ];
}

function rangeOf(line: number, count: number): string {
  return count === 1 ? String(line) : `${count === 0 ? line - 1 : line},${count}`;
}
