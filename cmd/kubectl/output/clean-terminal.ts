import { Writable } from "node:stream";

import { plainLines } from "../../../api/foreign-text.ts";
import type { Output, Terminal } from "./terminal.ts";

/**
 * The process with outputs that hold nothing which a terminal obeys: text from a cluster, a bundle or a file may have control characters, and all text goes through
 * here. Line feeds, tabs and colours pass, and `erase`; everything else becomes spaces. Security: T-86.
 */
export function cleanTerminal(terminal: Terminal): Terminal {
  const { args, env, now, page } = terminal;
  return {
    args,
    env,
    now,
    stdout: cleanOutput(terminal.stdout),
    data: dataOutput(terminal.stdout),
    stderr: cleanOutput(terminal.stderr),
    ...(terminal.stdout instanceof Writable ? { screen: terminal.stdout } : {}),
    ...(page === undefined ? {} : { page: (text) => page(cleanText(text)) }),
    // A getter, so that only a command that reads it opens standard input.
    get stdin() {
      return terminal.stdin;
    },
  };
}

function cleanOutput(output: Output): Output {
  const write = (text: string): unknown => output.write(cleanText(text));
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

// What `painter` writes: red, green, yellow, and their end.
// oxlint-disable-next-line no-control-regex -- finds control sequences
const colours = /(\u001b\[3[1-39]m)/;

function cleanText(text: string): string {
  return text
    .split(colours)
    .map((part, at) => (at % 2 === 1 ? part : plainLines(part)))
    .join("");
}
