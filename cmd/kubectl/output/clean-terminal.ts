import { Writable } from "node:stream";

import { plainLines } from "../../../api/foreign-text.ts";
import type { Output, Terminal } from "./terminal.ts";

/**
 * The process with outputs that hold nothing which a terminal obeys: text from a cluster, a bundle or a file may have control characters, and all text goes through
 * here. Line feeds, tabs and the colours of `painterFor` pass, and `erase`; everything else becomes spaces. Security: T-86.
 */
export function cleanTerminal(terminal: Terminal): Terminal {
  const { args, env, now, page } = terminal;
  // Who wrote a text before this process began cannot know it; node:crypto would slow the start. Libraries that measure text know parameters of at most four digits.
  const colourMark = [0, 0, 0].map(() => `;${1_000 + Math.floor(Math.random() * 9_000)}`).join("");
  const clean = cleaner(colourMark);
  return {
    args,
    env,
    now,
    colourMark,
    stdout: cleanOutput(terminal.stdout, clean),
    data: dataOutput(terminal.stdout),
    stderr: cleanOutput(terminal.stderr, clean),
    ...(terminal.stdout instanceof Writable ? { screen: terminal.stdout } : {}),
    ...(page === undefined ? {} : { page: (text) => page(clean(text)) }),
    // A getter, so that only a command that reads it opens standard input.
    get stdin() {
      return terminal.stdin;
    },
  };
}

function cleanOutput(output: Output, clean: (text: string) => string): Output {
  const write = (text: string): unknown => output.write(clean(text));
  if (output.isTTY !== true) return { write };
  return {
    isTTY: true,
    get columns() {
      return output.columns ?? 0;
    },
    write,
    erase(lines) {
      output.write(lines === 0 ? "\r\u001b[K" : `\u001b[${lines}A\u001b[J`);
    },
  };
}

/** A document is not painted, so not even colours pass to a terminal. */
function dataOutput(output: Output): Output {
  return output.isTTY === true ? { write: (text) => output.write(plainLines(text)) } : output;
}

/** Makes text clean, with the colours that have the mark: red, green, yellow, and their end. */
function cleaner(mark: string): (text: string) => string {
  const colours = new RegExp(`\\u001b\\[(3[1-39])${mark}m`);
  return (text) =>
    text
      .split(colours)
      .map((part, at) => (at % 2 === 1 ? `\u001b[${part}m` : plainLines(part)))
      .join("");
}
