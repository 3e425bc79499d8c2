import { stripVTControlCharacters } from "node:util";

import type { Output, Terminal } from "../output/terminal.ts";

/** Whether a report that goes on is one picture that is drawn again. Elsewhere each change is a line. */
export function isRedrawn({ isTTY }: Output, env: Terminal["env"]): boolean {
  return isTTY === true && env["TERM"] !== "dumb";
}

/** Where a report that goes on is shown. Each text replaces the one before it. The same text is not written again. */
export class Place implements Output {
  readonly #output: Output;
  readonly #isDrawn: boolean;
  #last = "";

  /** `isDrawn`: false writes the texts one below the other. */
  constructor(output: Output, isDrawn: boolean) {
    this.#output = output;
    this.#isDrawn = isDrawn;
  }

  get isTTY(): boolean {
    return this.#output.isTTY === true;
  }

  get columns(): number | undefined {
    return this.#output.columns;
  }

  write(text: string): void {
    if (text === this.#last) return;
    const lines = this.#isDrawn ? heightOf(this.#last, this.#output.columns) : 0;
    if (lines > 0) this.#output.erase?.(lines);
    this.#output.write(text);
    this.#last = text;
  }
}

/** The number of lines that a text takes in a terminal, which wraps long ones. */
function heightOf(text: string, columns = 0): number {
  const width = columns > 0 ? columns : Number.MAX_SAFE_INTEGER;
  const lines = stripVTControlCharacters(text).split("\n").slice(0, -1);
  return lines.reduce((sum, { length }) => sum + Math.max(1, Math.ceil(length / width)), 0);
}
