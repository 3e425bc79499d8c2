/** A word as a POSIX shell has to be given it: bare when that is safe, else in single quotes. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * A command as a user would type it, over several lines with ` \` when it is wider than `width`; a word is never cut. The
 * result can be pasted into a shell.
 */
export function commandLines(words: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words.map(shellWord)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (longer.length > width - 2 && line !== "") {
      lines.push(`${line} \\`);
      line = `  ${word}`;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}
