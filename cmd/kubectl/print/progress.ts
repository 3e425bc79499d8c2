import type { Output } from "../terminal.ts";

/** A line on a terminal that says how far a long read has come. */
export interface Progress {
  readonly update: (done: number, total: number) => void;
  /** Removes the line. */
  readonly end: () => void;
}

const clearLine = "\r\u001b[K";

/** Shows `clusters 3/120` on a terminal; elsewhere nothing. */
export function openProgress(output: Output | undefined): Progress {
  const terminal = output?.isTTY === true ? output : undefined;
  let shown = false;
  return {
    update(done, total) {
      if (total < 2) return;
      shown = true;
      terminal?.write(`${clearLine}clusters ${done}/${total}`);
    },
    end() {
      if (shown) terminal?.write(clearLine);
      shown = false;
    },
  };
}
