import { plainText } from "../../../api/foreign-text.ts";
import { type ActionInput, tableText } from "../action.ts";
import { isTable } from "../output/output-format.ts";
import { withOutput } from "../output/paged-output.ts";
import { commandsOf, renderFailure, withHubSteps } from "../output/steps.ts";
import type { Table } from "../output/table.ts";
import { askForAgreement, documentOutput } from "../output/terminal.ts";
import { printReport } from "./print-report.ts";
import type { Report } from "./report.ts";

/** What a command says before its end, and what it asks: a person reads it beside the data. */
export class Talk {
  readonly #flags: ActionInput<unknown>["flags"];
  readonly #terminal: ActionInput<unknown>["terminal"];

  constructor({ flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">) {
    this.#flags = flags;
    this.#terminal = terminal;
  }

  /** Writes lines on standard error, unless --quiet. */
  note(...lines: readonly string[]): void {
    if (!this.#flags.quiet) this.warn(...lines);
  }

  /** Writes lines on standard error, also with --quiet: nobody may miss them. */
  warn(...lines: readonly string[]): void {
    this.#terminal.stderr.write(lines.map((line) => `${plainText(line)}\n`).join(""));
  }

  /** Says why something was not done, also with --quiet. */
  fail(error: string, next: readonly string[]): void {
    const failure = withHubSteps({ error, next }, commandsOf(this.#flags));
    this.#terminal.stderr.write(renderFailure(failure));
  }

  /** Writes data on standard output. */
  print(text: string): void {
    documentOutput(this.#terminal).write(text);
  }

  /** Writes a text as it is: on standard output in a table, else on standard error, unless --quiet. */
  write(text: string): void {
    const { stdout, stderr } = this.#terminal;
    if (isTable(this.#flags)) stdout.write(text);
    else if (!this.#flags.quiet) stderr.write(text);
  }

  /** Says a sentence, as `write` does. */
  say(sentence: string): void {
    this.write(`${plainText(sentence)}\n`);
  }

  /** Shows a table, as `write` does. */
  show(table: Table): void {
    const { stderr } = this.#terminal;
    this.write(
      isTable(this.#flags)
        ? tableText(table, this.#flags, this.#terminal)
        : tableText(table, { ...this.#flags, output: "wide" }, withOutput(this.#terminal, stderr)),
    );
  }

  /** Shows a report as a table for people: on standard output where that is a table, else on standard error, unless --quiet. */
  async report<Item>(report: Report<Item>): Promise<void> {
    const { stderr } = this.#terminal;
    if (isTable(this.#flags)) {
      await printReport("", report, { flags: this.#flags, terminal: this.#terminal });
    } else if (!this.#flags.quiet) {
      await printReport("", report, {
        flags: { ...this.#flags, output: "table" },
        terminal: withOutput(this.#terminal, stderr),
      });
    }
  }

  /** Asks before a change. `yes`: the answer is known. Throws UsageError when nobody can answer, or when the answer is not yes. */
  ask(question: string, yes: boolean): Promise<void> {
    return askForAgreement(question, { yes, input: this.#flags.input }, this.#terminal);
  }
}
