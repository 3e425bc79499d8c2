import { clockText } from "./elapsed.ts";
import { fitted } from "./paragraph.ts";

export interface ProgressDeps {
  readonly write: (text: string) => void;
  readonly now: () => number;
  readonly terminal: boolean;
  readonly width: number;
}

const redrawMs = 1000;
const paceMs = 3000;
const heartbeatMs = 15_000;

/**
 * Shows that a long step is alive. On a terminal one line is rewritten every second. Elsewhere a line is written when the text
 * changes in more than its numbers, at most every 3 s, and every 15 s in any case. Ends with `[Symbol.dispose]`, which leaves no
 * half line behind.
 */
export class Progress implements Disposable {
  readonly #deps: ProgressDeps;
  readonly #startedMs: number;
  readonly #timer: NodeJS.Timeout;
  #text = "";
  #drawn: { readonly text: string; readonly atMs: number } | undefined;
  #lineOpen = false;
  #ended = false;

  constructor(deps: ProgressDeps) {
    this.#deps = deps;
    this.#startedMs = deps.now();
    this.#timer = setInterval(() => this.#tick(), deps.terminal ? redrawMs : paceMs);
  }

  /** What is being done now; nothing is shown after the end. */
  update(text: string): void {
    if (text === this.#text || this.#ended) return;
    this.#text = text;
    if (this.#deps.terminal) this.#draw();
    else this.#drawWhenDue();
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
    this.#ended = true;
  }

  #tick(): void {
    if (this.#deps.terminal) this.#draw();
    else this.#drawWhenDue();
  }

  #drawWhenDue(): void {
    const drawn = this.#drawn;
    const ageMs = drawn === undefined ? Number.POSITIVE_INFINITY : this.#deps.now() - drawn.atMs;
    const news = drawn === undefined || shapeOf(drawn.text) !== shapeOf(this.#text);
    if (ageMs >= (news ? paceMs : heartbeatMs)) this.#draw();
  }

  #draw(): void {
    if (this.#text === "") return;
    const { write, now, terminal, width } = this.#deps;
    const line = `  [${clockText(now() - this.#startedMs)}] ${this.#text}`;
    // One column stays free: a full line would make some terminals wrap, and the rewriting would miss a row.
    write(terminal ? `\r\u001B[K${fitted(line, width - 1)}` : `${line}\n`);
    this.#drawn = { text: this.#text, atMs: now() };
    this.#lineOpen = terminal;
  }

  #erase(): void {
    if (this.#lineOpen) this.#deps.write("\r\u001B[K");
    this.#lineOpen = false;
  }
}

/** The text without its numbers: what counts up is no news. */
function shapeOf(text: string): string {
  return text.replaceAll(/\d+/g, "#");
}
