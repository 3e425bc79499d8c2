import { commandTable } from "./command-table.ts";

/** The command line that shows the help of the command that the words are about, or of all. */
export function helpLine(args: readonly string[]): string {
  const names = commandTable().map(({ name }) => name);
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  const name = words.find((word) => names.includes(word));
  return ["kubectl knfleet", ...(name === undefined ? [] : [name]), "--help"].join(" ");
}
