import { createColors } from "picocolors";

import { commandLines } from "./command-line.ts";
import { elapsedText } from "./elapsed.ts";
import { StepFailed } from "./failure.ts";
import { folded } from "./fold.ts";
import type { DemoOptions } from "./options.ts";
import { wrapped } from "./paragraph.ts";
import { Progress } from "./progress.ts";

export interface NarratorDeps {
  readonly options: Pick<DemoOptions, "colors" | "terminal" | "width">;
  /** How many steps will be told; the heading of each says `n/steps`. */
  readonly steps: number;
  readonly write: (text: string) => void;
  readonly now: () => number;
}

/** Tells the story of the demo: numbered steps with their time, plain sentences, commands with their real output. */
export interface Narrator {
  /** Runs one step under its heading; throws `StepFailed` with the cause, or the abort reason when `signal` was aborted. */
  step<T>(title: string, signal: AbortSignal, run: () => Promise<T>): Promise<T>;
  /** A paragraph, wrapped. */
  say(text: string): void;
  /** Something that a person has to notice. */
  warn(text: string): void;
  /** `$ kubectl …`, as it can be typed. */
  command(words: readonly string[]): void;
  /** Foreign text: indented, and on a terminal folded to its width. */
  output(text: string): void;
  /** A line for what takes long; dispose of it before saying anything else. */
  progress(): Progress;
  /** Number of steps begun. */
  readonly begun: number;
}

const indent = "  ";

/** A narrator that writes to `write`. */
export function createNarrator(deps: NarratorDeps): Narrator {
  const { options, steps, now } = deps;
  const paint = createColors(options.colors);
  const startedMs = now();
  const line = (text = ""): void => deps.write(`${text}\n`);
  const paragraph = (text: string): readonly string[] =>
    wrapped(text, options.width - indent.length);
  let begun = 0;

  const step = async <T>(title: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    begun += 1;
    const number = begun;
    const beganMs = now();
    line();
    line(paint.bold(paint.cyan(`== ${number}/${steps}  ${title}`)));
    try {
      const result = await run();
      const took = `done in ${elapsedText(now() - beganMs)}, ${elapsedText(now() - startedMs)} so far`;
      line(`${indent}${paint.green(took)}`);
      return result;
    } catch (cause) {
      signal.throwIfAborted();
      throw new StepFailed(number, title, cause);
    }
  };

  return {
    step,
    say: (text) => paragraph(text).forEach((part) => line(`${indent}${part}`)),
    warn: (text) => paragraph(text).forEach((part) => line(`${indent}${paint.yellow(part)}`)),
    command: (words) =>
      commandLines(words, options.width - indent.length - 2).forEach((part, row) =>
        line(`${indent}${row === 0 ? "$" : " "} ${paint.bold(part)}`),
      ),
    output: (text) => {
      const room = options.terminal ? options.width - indent.length : Number.POSITIVE_INFINITY;
      folded(text, room).forEach((part) => line(`${indent}${part}`.trimEnd()));
    },
    progress: () => new Progress({ write: deps.write, now, ...options }),
    get begun() {
      return begun;
    },
  };
}
