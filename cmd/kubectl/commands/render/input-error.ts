const mostProblems = 100;

/** Input that cannot be used; one line for each problem, with the place of it. */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const shown = problems.slice(0, mostProblems);
    const left = problems.length - shown.length;
    const all = left === 0 ? shown : [...shown, `and ${left} more problems`];
    super(all.join("\n"));
    this.problems = all;
  }
}
