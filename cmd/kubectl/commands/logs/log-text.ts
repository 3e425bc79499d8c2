import type { ActionInput } from "../../action.ts";
import { painter, wantsColour } from "../../output/colour.ts";
import { plainText } from "../../output/plain-text.ts";
import type { LogItem } from "./log-line.ts";

/** How a line is written: cluster, pod and container in front, in yellow on a terminal; nothing in it moves the cursor. */
export function logText({
  flags,
  options,
  terminal,
}: Pick<ActionInput<{ readonly timestamps?: boolean }>, "flags" | "options" | "terminal">): (
  item: LogItem,
) => string {
  const { env, stdout } = terminal;
  const paint = painter(wantsColour(flags.color, env, stdout.isTTY === true));
  return ({ time, cluster, pod, container, line }) => {
    const source = `${cluster ?? "<hub>"} ${pod} ${container}`;
    const stamp = options.timestamps === true ? `${time ?? "<unknown>"} ` : "";
    // A stack is read by its indentation.
    const [indent = ""] = /^[ \t]*/.exec(line) ?? [];
    const text = `${indent.replaceAll("\t", "    ")}${plainText(line)}`;
    return `${paint(plainText(source), "warning")} ${plainText(stamp)}${stamp === "" ? "" : " "}${text}\n`;
  };
}
