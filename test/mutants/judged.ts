/** A change of one place of a source file that no test noticed. */
export interface Survivor {
  readonly file: string;
  readonly lineNumber: number;
  /** The line of the source file, without the spaces around it. */
  readonly line: string;
  /** What stood there, and what stood there while the tests ran. */
  readonly change: string;
}

/** A survivor that somebody has judged: no test can or need notice it. Without a line number, which other changes move. */
export interface Judged extends Pick<Survivor, "file" | "line" | "change"> {
  readonly reason: string;
}

/** The survivors that nobody has judged, and the judged ones of the `files` that did not survive this time. */
export function compareWithJudged(
  survivors: readonly Survivor[],
  judged: readonly Judged[],
  files: ReadonlySet<string>,
): { readonly open: readonly Survivor[]; readonly outdated: readonly Judged[] } {
  const isSame = (survivor: Survivor, { file, line, change }: Judged): boolean =>
    survivor.file === file && survivor.line === line && survivor.change === change;
  return {
    open: survivors.filter((survivor) => !judged.some((entry) => isSame(survivor, entry))),
    outdated: judged.filter(
      (entry) => files.has(entry.file) && !survivors.some((survivor) => isSame(survivor, entry)),
    ),
  };
}
