import { plainText } from "../../../api/foreign-text.ts";
import type { Flags } from "../flags.ts";
import { isDocument } from "./output-format.ts";
import type { Output } from "./terminal.ts";
import { cutText } from "./text-width.ts";

/** Start of each read that is running, by cluster and `performance.now()`. */
export type Running = ReadonlyMap<string, number>;

/** Shows the progress of a long read, and its slow clusters. */
export interface Progress {
  readonly update: (done: number, total: number, running?: Running) => void;
  /** Clears the line of a terminal, and shows nothing more. */
  readonly end: () => void;
}

const paceMs = { terminal: 1_000, lines: 10_000 };
const slowAfterMs = 3_000;
const shownSlow = 3;

interface ReadState {
  readonly done: number;
  readonly total: number;
  readonly running: Running;
}

/**
 * Shows `spokes 37/120, 3 slow: eu-4 (8s) …`, or another noun: on a terminal in one line that is rewritten, elsewhere as a new line every ten seconds. Writes no new lines
 * for documents or without `flags`, and nothing at all without `output`.
 */
export function openProgress(
  output: Output | undefined,
  flags?: Pick<Flags, "output">,
  noun = "spokes",
): Progress {
  const isTerminal = output?.isTTY === true;
  const isQuiet = flags === undefined || isDocument(flags);
  if (output === undefined || (!isTerminal && isQuiet)) return silent;
  let known: ReadState | undefined;
  let isShown = false;
  const show = (): void => {
    if (known === undefined || known.done === known.total) return;
    const text = `${noun} ${progressText(known, performance.now())}`;
    isShown = isTerminal;
    output.erase?.(0);
    const { columns = 0 } = output;
    const shown = columns > 0 ? cutText(text, columns - 1, "") : text;
    output.write(isTerminal ? shown : `${text}\n`);
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
      if (isShown) output.erase?.(0);
      isShown = false;
      known = undefined;
    },
  };
}

const silent: Progress = { update: () => undefined, end: () => undefined };

/** How far a reading is, with the slowest clusters first. */
export function progressText({ done, total, running }: ReadState, nowMs: number): string {
  const slow = [...running]
    .map(([name, since]) => ({ name, ms: nowMs - since }))
    .filter(({ ms }) => ms >= slowAfterMs)
    .toSorted((a, b) => b.ms - a.ms);
  const names = slow
    .slice(0, shownSlow)
    .map(({ name, ms }) => `${plainText(name)} (${Math.floor(ms / 1_000)}s)`);
  const rest = slow.length > shownSlow ? " …" : "";
  const slowText = slow.length === 0 ? "" : `, ${slow.length} slow: ${names.join(", ")}${rest}`;
  return `${done}/${total}${slowText}`;
}

/** Called when a reading starts or ends, with the running ones. */
export type OnProgress = (done: number, total: number, running: Running) => void;

/** Two callbacks for readings that run at the same time; `update` is called with the sums of both, and with the running readings of both. */
export function sharedProgress(
  update: OnProgress = () => undefined,
): readonly [OnProgress, OnProgress] {
  const last: Record<"one" | "other", ReadState> = {
    one: { done: 0, total: 0, running: new Map() },
    other: { done: 0, total: 0, running: new Map() },
  };
  const callback =
    (side: keyof typeof last): OnProgress =>
    (done, total, running) => {
      last[side] = { done, total, running };
      const { one, other } = last;
      update(
        one.done + other.done,
        one.total + other.total,
        new Map([...one.running, ...other.running]),
      );
    };
  return [callback("one"), callback("other")];
}

/** Reads one of many clusters by its name. */
type CountedReading = <Found>(name: string, read: () => Promise<Found>) => Promise<Found>;

/** Calls `onProgress` whenever one of `total` reads starts or ends, with the running ones. */
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
