import { clockText } from "./elapsed.ts";
import { fitted } from "./paragraph.ts";

export interface ProgressDeps {
  readonly write: (text: string) => void;
  readonly now: () => number;
  readonly terminal: boolean;
  readonly width: number;
}

const redrawMs = 1000;
const heartbeatMs = 15_000;

/**
 * Shows that a long step is alive. On a terminal one line is rewritten every second; elsewhere a line is written when the text
 * changes and every 15 s. Ends with `[Symbol.dispose]`, which leaves no half line behind.
 */
export class Progress implements Disposable {
  readonly #deps: ProgressDeps;
  readonly #startedMs: number;
  readonly #timer: NodeJS.Timeout;
  #text = "";
  #drawn = false;

  constructor(deps: ProgressDeps) {
    this.#deps = deps;
    this.#startedMs = deps.now();
    this.#timer = setInterval(() => this.#draw(), deps.terminal ? redrawMs : heartbeatMs);
  }

  /** What is being done now; the same text again draws nothing. */
  update(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    this.#draw();
  }

  /** Writes a line that stays, above the one that is rewritten. */
  note(line: string): void {
    this.#erase();
    this.#deps.write(`${line}\n`);
    if (this.#deps.terminal) this.#draw();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#erase();
  }

  #draw(): void {
    if (this.#text === "") return;
    const { write, now, terminal, width } = this.#deps;
    const line = `  [${clockText(now() - this.#startedMs)}] ${this.#text}`;
    // One column stays free: a full line would make some terminals wrap, and the rewriting would miss a row.
    write(terminal ? `\r\u001B[K${fitted(line, width - 1)}` : `${line}\n`);
    this.#drawn = terminal;
  }

  #erase(): void {
    if (this.#drawn) this.#deps.write("\r\u001B[K");
    this.#drawn = false;
  }
}
