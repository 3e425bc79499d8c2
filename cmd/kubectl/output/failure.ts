import { plainText } from "../../../api/foreign-text.ts";
import { stepLine } from "./step-lines.ts";

/** A failure as the user sees it. */
export interface Failure {
  /** What failed, with the object and why. */
  readonly error: string;
  /** The chain of causes, outermost first. */
  readonly causes: readonly string[];
  /** One or two things to do. */
  readonly next: readonly string[];
}

/** `error:`, `cause:`, `next:` and `hint:` lines, without anything that a terminal would act on. */
export function renderFailure({ error, causes, next }: Failure): string {
  return [
    `error: ${plainText(error)}`,
    ...causes.map((cause) => `cause: ${plainText(cause)}`),
    ...next.map((step) => stepLine(step)),
  ]
    .map((line) => `${line}\n`)
    .join("");
}
