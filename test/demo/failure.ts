import { inspect } from "node:util";

/** A step of the demo that did not work; `cause` is why. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly step: number;
  readonly title: string;

  constructor(step: number, title: string, cause: unknown) {
    super(`Step ${step} failed: ${title}`, { cause });
    this.step = step;
    this.title = title;
  }
}

/** The messages of an error and of its causes, outermost first, without repeats; never a stack. */
export function reasonsOf(error: unknown): readonly string[] {
  const messages: string[] = [];
  const seen = new Set<unknown>();
  let current = error;
  while (current !== undefined && !seen.has(current)) {
    seen.add(current);
    const message = current instanceof Error ? current.message : inspect(current);
    // A wrapper often repeats what it wraps.
    if (!messages.some((known) => known.includes(message))) messages.push(message);
    current = current instanceof Error ? current.cause : undefined;
  }
  return messages;
}

/** Which step, why, and where to look, as lines. Without `logFolder` nothing runs yet, or the reason names it. */
export function failureLines(error: unknown, logFolder: string | undefined): readonly string[] {
  const failed = error instanceof StepFailed;
  const why = reasonsOf(failed ? error.cause : error);
  return [
    failed ? `FAILED in step ${error.step}: ${error.title}` : "FAILED",
    ...why.flatMap((message, index) =>
      message
        .split("\n")
        .map((line, row) => `${index === 0 && row === 0 ? "  why: " : "       "}${line}`),
    ),
    ...(logFolder === undefined ? [] : [`  logs: ${logFolder}`]),
  ];
}
