import { plainText } from "../../../api/foreign-text.ts";
import type { Flags } from "../flags.ts";
import { isDocument } from "./output-format.ts";
import type { Output } from "./terminal.ts";

/** Clusters that are being read, by name, and since when in ms of `performance.now()`. */
export type Running = ReadonlyMap<string, number>;

/** Says how far a long read has come, and who is slow. */
export interface Progress {
  readonly update: (done: number, total: number, running?: Running) => void;
  /** Removes what a terminal shows, and says no more. */
  readonly end: () => void;
}

const clearLine = "\r\u001b[K";
const paceMs = { terminal: 1_000, lines: 10_000 };
const slowAfterMs = 3_000;
const shownSlow = 3;

interface Known {
  readonly done: number;
  readonly total: number;
  readonly running: Running;
}

/**
 * Shows `spokes 37/120, 3 slow: eu-4 (8s) …`: on a terminal in one line that is rewritten, elsewhere as a line every ten seconds. Writes no such lines for
 * documents (`flags`; absent: none either), and nothing at all without `output`.
 */
export function openProgress(output: Output | undefined, flags?: Pick<Flags, "output">): Progress {
  const isTerminal = output?.isTTY === true;
  const isQuiet = flags === undefined || isDocument(flags);
  if (output === undefined || (!isTerminal && isQuiet)) return silent;
  let known: Known | undefined;
  let shown = false;
  const show = (): void => {
    if (known === undefined || known.done === known.total) return;
    const text = progressText(known, performance.now());
    shown = isTerminal;
    output.write(isTerminal ? `${clearLine}${cut(text, output.columns)}` : `${text}\n`);
  };
  const timer = setInterval(show, isTerminal ? paceMs.terminal : paceMs.lines).unref();
  return {
    update(done, total, running = new Map()) {
      if (total < 2) return;
      known = { done, total, running };
      if (isTerminal) show();
    },
    end() {
      clearInterval(timer);
      if (shown) output.write(clearLine);
      shown = false;
      known = undefined;
    },
  };
}

const silent: Progress = { update: () => undefined, end: () => undefined };

/** The line for a moment, the slowest clusters first. */
export function progressText({ done, total, running }: Known, nowMs: number): string {
  const slow = [...running]
    .map(([name, since]) => ({ name, ms: nowMs - since }))
    .filter(({ ms }) => ms >= slowAfterMs)
    .toSorted((a, b) => b.ms - a.ms);
  const names = slow
    .slice(0, shownSlow)
    .map(({ name, ms }) => `${plainText(name)} (${Math.floor(ms / 1_000)}s)`);
  const rest = slow.length > shownSlow ? " …" : "";
  const who = slow.length === 0 ? "" : `, ${slow.length} slow: ${names.join(", ")}${rest}`;
  return `spokes ${done}/${total}${who}`;
}

function cut(text: string, columns = 0): string {
  return columns > 0 && text.length >= columns ? text.slice(0, columns - 1) : text;
}

/** Reads one thing of many by its name. */
type CountedReading = <Found>(name: string, read: () => Promise<Found>) => Promise<Found>;

/** Tells `onProgress` whenever one of `total` things is begun or done, with those that are being read. */
export function countedReading(
  total: number,
  onProgress: (done: number, total: number, running: Running) => void = () => undefined,
): CountedReading {
  let done = 0;
  const running = new Map<string, number>();
  return async (name, read) => {
    running.set(name, performance.now());
    onProgress(done, total, running);
    try {
      return await read();
    } finally {
      done += 1;
      running.delete(name);
      onProgress(done, total, running);
    }
  };
}
