import { plainText } from "../../../../api/foreign-text.ts";
import { type Commands, withHub } from "../../output/steps.ts";
import type { Table } from "../../output/table.ts";
import type { NumberedStep } from "./migration-plan.ts";
import type { Step } from "./step.ts";

const states = {
  Done: { text: "done", tone: "good" },
  ToDo: { text: "to do", tone: "warning" },
  Blocked: { text: "blocked", tone: "bad" },
} as const;

const actors = { command: "--apply", you: "by hand", operator: "operator" } as const;

const shownLines = 10;

/** The steps as a table. */
export function migrationTable(items: readonly NumberedStep[]): Table {
  return {
    headers: ["#", "STEP", "STATE", "BY", "WHAT"],
    mayShorten: ["WHAT"],
    rows: items.map(({ number, id, state, by, message }) => [
      String(number),
      id,
      states[state],
      actors[by],
      plainText(message),
    ]),
  };
}

/** What the open steps are about, and the commands to run by hand. `isWide`: all of it. */
export function migrationDetails(
  items: readonly NumberedStep[],
  commands: Commands,
  isWide: boolean,
): string {
  const open = items.filter(
    ({ state, pending, next }) => state !== "Done" && pending.length + next.length > 0,
  );
  return open
    .map((step) => `\n${step.number}  ${step.id}\n${detailsOf(step, commands, isWide)}`)
    .join("");
}

/** The lines of one step. */
export function detailsOf(
  { pending, next }: Pick<Step, "pending" | "next">,
  commands: Commands,
  isWide: boolean,
): string {
  const shown = isWide ? pending : pending.slice(0, shownLines);
  const rest = pending.length - shown.length;
  return [
    ...shown.map(plainText),
    ...(rest > 0 ? [`… and ${rest} more (-o wide shows all)`] : []),
    ...next.map((step) => plainText(withHub(step, commands))),
  ]
    .map((line) => `   ${line}\n`)
    .join("");
}
