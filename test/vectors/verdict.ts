/** What became of one vector. */
export interface Verdict {
  readonly name: string;
  /** `different`: on purpose, for the reasons in `defects`. */
  readonly kind: "equal" | "different" | "wrong";
  /** D-, N-, C- or T-numbers. */
  readonly defects: readonly string[];
  /** For a wrong one what is wrong, over several lines. */
  readonly details: string;
}

/** How many vectors of a folder had which verdict. */
export type FolderResult = Readonly<Record<Verdict["kind"], number>>;

/** One line for a vector; below it, when it is wrong, what is wrong. */
export function verdictLines({ name, kind, defects, details }: Verdict): string {
  if (kind === "equal") return `equal      ${name}\n`;
  if (kind === "different") return `different  ${name} (on purpose: ${defects.join(", ")})\n`;
  return `WRONG      ${name}\n${details.trimEnd().replaceAll(/^/gm, "    ")}\n`;
}

/** The total of a folder, as a line. */
export function totalLine(folder: string, { equal, different, wrong }: FolderResult): string {
  const all = equal + different + wrong;
  return `${folder}: ${all} vectors, ${equal} equal, ${different} different on purpose, ${wrong} wrong\n`;
}
