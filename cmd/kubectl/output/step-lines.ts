import { plainText } from "../../../api/foreign-text.ts";
import { isCommand } from "../commands.ts";
import { wrapped } from "./wrapped.ts";

/** A line for one step: `next:` stands before a command that can be pasted, `hint:` before what is to be done in words. */
export function stepLine(step: string, about = ""): string {
  const label = isCommand(step) ? "next" : "hint";
  return `${label}${about === "" ? "" : ` (${about})`}: ${plainText(step)}`;
}

/** A numbered list of steps. A command that belongs to the sentence before it stands below that, so that its line can be pasted. */
export function numberedSteps(steps: readonly string[]): readonly string[] {
  let number = 0;
  return steps.map((step, at) => {
    const isBelow = isCommand(step) && steps.slice(0, at).findLast(isSentence)?.endsWith(":");
    if (isBelow === true) return `     ${plainText(step)}`;
    number += 1;
    return `  ${number}. ${plainText(step)}`;
  });
}

function isSentence(step: string): boolean {
  return !isCommand(step);
}

/** The line of a step in lines of a width; a command stays one line, so that it can be pasted. */
export function wrappedStep(line: string, width: number | undefined): readonly string[] {
  const step = line.replace(/^ *(?:\d+\. |next(?: \([^)]*\))?: )?/, "");
  return isCommand(step) ? [line] : wrapped(line, width, line.startsWith(" ") ? 5 : 2);
}
