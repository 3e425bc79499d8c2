import picocolors from "picocolors";

import type { Tone } from "./table.ts";

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

/** Paints text by what it means: green, yellow or red; unchanged without colour. */
export function painter(enabled: boolean): (text: string, tone: Tone) => string {
  const { green, yellow, red } = picocolors.createColors(enabled);
  const paints = { good: green, warning: yellow, bad: red };
  return (text, tone) => paints[tone](text);
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

function isForced(value: string | undefined): boolean {
  return isSet(value) && value !== "0" && value !== "false";
}
