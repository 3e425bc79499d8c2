/** The word most like another, if one is: at most a third of its letters differ. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const wanted = word.toLowerCase().slice(0, 100);
  const ranked = words
    .map((candidate) => ({ candidate, distance: distance(wanted, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.max(2, wanted.length / 3)
    ? best.candidate
    : undefined;
}

/** Letters to insert, leave out or replace (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let at = 0; at < from.length; at += 1) {
    const next = [at + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (to[column - 1] === from[at] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
