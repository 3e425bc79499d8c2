/** A fenced block of a Markdown page. */
export interface Block {
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a Markdown page, in order. */
export function blocksOf(markdown: string): readonly Block[] {
  return Array.from(
    markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm),
    ([, language = "", text = ""]) => ({ language, text }),
  );
}

/** Name of the file that a block is to be saved as, from a first line such as `# spoke-1.yaml`. */
export function fileNameOf({ text }: Block): string | undefined {
  return /^# ([\w.-]+)\n/.exec(text)?.[1];
}
