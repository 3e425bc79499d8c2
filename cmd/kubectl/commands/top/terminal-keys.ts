import type { Key as InkKey } from "ink";

import type { Key } from "./top-view.ts";

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

/** What Ink calls a key press, or several that came at once, as keys. */
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
