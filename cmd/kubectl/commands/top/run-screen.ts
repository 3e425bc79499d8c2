import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

import { Box, type Key as InkKey, render, Text, useApp, useInput, useWindowSize } from "ink";
import { createElement, type ReactElement, useEffect, useReducer } from "react";

import { painter } from "../../output/terminal.ts";
import type { Line, Segment } from "./screen-text.ts";
import type { TopModel } from "./top-model.ts";
import type { Key, Wish } from "./top-view.ts";

interface ScreenOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly colour: boolean;
}

const tickMs = 1_000;
/** Collects the changes of many clusters that answer at almost the same time. */
const settleMs = 50;

/**
 * Shows the model on the alternate screen of a terminal until a key or the signal ends it. Restores the terminal, also when a signal or a bug ends the
 * process. Resolves with the user's wish: `interrupt` for Ctrl-C.
 */
export async function runScreen(
  model: TopModel,
  { stdin, stdout, colour }: ScreenOptions,
  signal: AbortSignal,
): Promise<"quit" | "interrupt"> {
  const app = render(createElement(Screen, { model, colour }), {
    stdin,
    stdout,
    alternateScreen: true,
    incrementalRendering: true,
    exitOnCtrlC: false,
    interactive: true,
    patchConsole: false,
    maxFps: 20,
  });
  const end = (): void => app.unmount();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return (await app.waitUntilExit()) === "interrupt" ? "interrupt" : "quit";
  } finally {
    signal.removeEventListener("abort", end);
    app.cleanup();
  }
}

interface ScreenProps {
  readonly model: TopModel;
  readonly colour: boolean;
}

function Screen({ model, colour }: ScreenProps): ReactElement {
  const size = useWindowSize();
  const { exit, suspendTerminal } = useApp();
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => soon(model.subscribe, draw), [model]);
  useEffect(() => {
    // Redraws for the ages in the table.
    const timer = setInterval(draw, tickMs);
    return () => clearInterval(timer);
  }, []);
  useInput((input, key) => {
    for (const one of keysOf(input, key)) {
      const wish = model.press(one, size);
      if (wish === "quit" || wish === "interrupt") return exit(wish);
      // The next frame is drawn whole.
      if (wish === "suspend" || wish === "redraw") void suspendTerminal(() => pause(wish));
    }
  });
  const lines = model.frame(size).map((line, at) => {
    return createElement(Text, { key: at, wrap: "truncate-end" }, textOf(line, colour) || " ");
  });
  const { columns: width, rows: height } = size;
  return createElement(Box, { flexDirection: "column", width, height, overflow: "hidden" }, lines);
}

/** Draws shortly after the first of several changes. */
function soon(subscribe: (listener: () => void) => () => void, draw: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const end = subscribe(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      draw();
    }, settleMs);
  });
  return () => {
    clearTimeout(timer);
    end();
  };
}

/** Stops the foreground job, as Ctrl-Z does in a program that does not read keys. Goes on after `fg`. */
async function pause(wish: Extract<Wish, "suspend" | "redraw">): Promise<void> {
  if (wish === "redraw" || process.platform === "win32") return;
  process.kill(0, "SIGTSTP");
  await delay(settleMs);
}

function textOf(line: Line, colour: boolean): string {
  const paint = painter(colour);
  const reverse = (text: string): string => (colour ? `\u001b[7m${text}\u001b[27m` : text);
  const shown = ({ text, tone, marked }: Segment): string => {
    const painted = tone === undefined ? text : paint(text, tone);
    return marked === true ? reverse(painted) : painted;
  };
  return line.map(shown).join("");
}

const named = {
  upArrow: "up",
  downArrow: "down",
  pageUp: "pageUp",
  pageDown: "pageDown",
  home: "home",
  end: "end",
  return: "enter",
  escape: "escape",
  backspace: "backspace",
  delete: "backspace",
  leftArrow: "escape",
  rightArrow: "enter",
} as const satisfies Partial<Record<keyof InkKey, Key>>;

const controls: Readonly<Record<string, Key>> = {
  c: "interrupt",
  z: "suspend",
  l: "redraw",
  n: "down",
  p: "up",
  d: "pageDown",
  u: "pageUp",
  f: "pageDown",
  b: "pageUp",
};

/** Translates Ink's input event into keys; one event can hold several. */
export function keysOf(input: string, key: Readonly<Partial<InkKey>>): readonly Key[] {
  if (key.ctrl === true) {
    const control = controls[input];
    return control === undefined ? [] : [control];
  }
  for (const [name, own] of Object.entries(named)) {
    if (Object.entries(key).some(([pressed, is]) => pressed === name && is === true)) return [own];
  }
  if (key.meta === true) return [];
  return Array.from(input, (letter): Key => {
    if (letter === "\r" || letter === "\n") return "enter";
    if (letter === "\u0003") return "interrupt";
    return { letter };
  }).filter((one) => typeof one === "string" || !/\p{Cc}/u.test(one.letter));
}
