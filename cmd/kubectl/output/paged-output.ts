import type { CommandEntry } from "../action.ts";
import type { Flags } from "../flags.ts";
import { isTable } from "./output-format.ts";
import type { Output, Terminal } from "./terminal.ts";

/** Collects the output of a command for a pager. */
export class PagedOutput implements Output {
  readonly #terminal: Terminal;
  #text = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get isTTY(): boolean {
    return this.#terminal.stdout.isTTY === true;
  }

  get columns(): number {
    return this.#terminal.stdout.columns ?? 0;
  }

  write(text: string): void {
    this.#text += text;
  }

  /** Shows the collected output, in the pager if there is one. */
  async show(): Promise<void> {
    const text = this.#text;
    this.#text = "";
    if (text === "") return;
    const isShown = (await this.#terminal.page?.(text)) === true;
    if (!isShown) this.#terminal.stdout.write(text);
  }
}

/** The terminal with another standard output. Standard input stays closed until it is read. */
export function withOutput(terminal: Terminal, stdout: Output): Terminal {
  const { args, env, stderr, now, colourMark } = terminal;
  return {
    args,
    env,
    stdout,
    stderr,
    now,
    ...(colourMark === undefined ? {} : { colourMark }),
    get stdin() {
      return terminal.stdin;
    },
  };
}

/** Whether the output goes to a person with a pager. */
export function isPaging({ stdout, page }: Terminal): boolean {
  return page !== undefined && stdout.isTTY === true;
}

/** Whether the output of a command is a text to read, and not a table or a document. */
export function isForReading(
  { pages }: CommandEntry,
  { args, flags }: { readonly args: readonly string[]; readonly flags: Flags },
): boolean {
  if (!isTable(flags)) return false;
  if (pages !== "one") return pages === "always";
  const [first = ""] = args;
  return args.length === (first.includes("/") ? 1 : 2);
}
