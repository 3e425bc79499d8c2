import type { Readable, Writable } from "node:stream";

import picocolors from "picocolors";

import { UsageError } from "../errors.ts";
import type { Tone } from "./table.ts";

/** A stream that a command writes to. */
export interface Output {
  readonly isTTY?: boolean;
  /** Width of a terminal in characters. */
  readonly columns?: number;
  write(text: string): unknown;
  /** Clears the last lines of a terminal, 0 for the one that the cursor is in. Absent elsewhere. */
  erase?(lines: number): void;
}

/** The process that a command runs in. */
export interface Terminal {
  /** Arguments after the program's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent: there is no input. */
  readonly stdin?: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Standard output for documents that a program reads: exact, but for a terminal. Absent: the same as `stdout`. */
  readonly data?: Output;
  /** Standard output without `cleanTerminal`, for a program that draws a whole screen. */
  readonly screen?: Writable;
  readonly now: () => Date;
  /** Stands in the colours of this program, so that `cleanTerminal` tells them from colours in foreign text. Absent: nothing is cleaned. */
  readonly colourMark?: string;
  /** Shows a text in a pager. False when there is no pager. Absent: no person reads the output. */
  readonly page?: (text: string) => Promise<boolean>;
}

/** Where a document for programs goes. */
export function documentOutput({ data, stdout }: Terminal): Output {
  return data ?? stdout;
}

export type ColourMode = "auto" | "always" | "never";

/** Whether a stream gets colour: the flag, then NO_COLOR, then CLICOLOR_FORCE and FORCE_COLOR, then the terminal. */
export function wantsColour(
  mode: ColourMode,
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (mode !== "auto") return mode === "always";
  if (isSet(env["NO_COLOR"])) return false;
  if (isForced(env["CLICOLOR_FORCE"]) || isForced(env["FORCE_COLOR"])) return true;
  return isTerminal && env["TERM"] !== "dumb";
}

type Paint = (text: string, tone: Tone) => string;

/** Paints text by its meaning: green, yellow or red. Unchanged without colour. `mark`: further parameters of each colour. */
export function painter(enabled: boolean, mark = ""): Paint {
  const { green, yellow, red } = picocolors.createColors(enabled);
  const paints = { good: green, warning: yellow, bad: red };
  return (text, tone) => {
    const [open = "", close = ""] = paints[tone]("|").split("|");
    return `${open.replace(/m$/, `${mark}m`)}${text}${close.replace(/m$/, `${mark}m`)}`;
  };
}

/** Paints text for the standard output of a command. */
export function painterFor(
  { stdout, env, colourMark }: Pick<Terminal, "colourMark" | "env" | "stdout">,
  mode: ColourMode,
): Paint {
  return painter(wantsColour(mode, env, stdout.isTTY === true), colourMark);
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

function isForced(value: string | undefined): boolean {
  return isSet(value) && value !== "0" && value !== "false";
}

interface Agreement {
  /** `--yes`: do not ask. */
  readonly yes: boolean;
  /** False: `--no-input`. */
  readonly input: boolean;
}

/** Asks before a change. Throws UsageError when nobody can answer, or when the answer is not yes. */
export async function askForAgreement(
  question: string,
  { yes, input }: Agreement,
  { stdin, stderr, env }: Terminal,
): Promise<void> {
  if (yes) return;
  const isInteractive = input && stderr.isTTY === true && (env["CI"] ?? "") === "";
  if (!isInteractive || stdin === undefined) {
    throw new UsageError(`${question} Nobody is there to agree`, [
      "Agree with --yes, in the same command.",
    ]);
  }
  stderr.write(`${question} Go on? [y/N] `);
  // Loaded on demand, because few commands ask.
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin });
  const answer = await lines.question("").finally(() => lines.close());
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new UsageError("Nothing was made");
}
