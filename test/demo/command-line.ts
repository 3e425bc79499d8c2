/** A word as a POSIX shell has to be given it: bare when that is safe, else in single quotes. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * A command as a user would type it, over several lines with ` \` when it is wider than `width`; a word is never cut, and a
 * flag stays with its value. The result can be pasted into a shell.
 */
export function commandLines(words: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const part of partsOf(words)) {
    const longer = line === "" ? part : `${line} ${part}`;
    if (longer.length > width - 2 && line !== "") {
      lines.push(`${line} \\`);
      line = `  ${part}`;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** Words as typed, a flag such as `-n` or `--namespace` together with the word after it. */
function partsOf(words: readonly string[]): readonly string[] {
  const parts: string[] = [];
  for (const [index, word] of words.entries()) {
    const before = words[index - 1] ?? "";
    const isValue = !word.startsWith("-") && /^-[^=]*$/.test(before);
    if (isValue) parts.push(`${parts.pop() ?? ""} ${shellWord(word)}`);
    else parts.push(shellWord(word));
  }
  return parts;
}
