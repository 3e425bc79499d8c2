/** A remark for the user about a field of a spec. */
export interface FieldProblem {
  /** The field; empty: the object as a whole. */
  readonly path: string;
  readonly message: string;
}

const shownLength = 64;

/** A value of the user's in a message: quoted and short. */
export function quoteValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return JSON.stringify(text.length <= shownLength ? text : `${text.slice(0, shownLength)}…`);
}

/** Path of a field or an element below another one, as `spec.workloads[0].labels["a/b"]`. */
export function below(path: string, ...parts: readonly (string | number)[]): string {
  return parts.reduce<string>((so, part) => {
    if (typeof part === "number") return `${so}[${part}]`;
    if (!/^[A-Za-z_][\w-]*$/.test(part)) return `${so}[${quoteValue(part)}]`;
    return so === "" ? part : `${so}.${part}`;
  }, path);
}
