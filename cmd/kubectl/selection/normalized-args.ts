import type { Option } from "commander";

import { UsageError } from "../usage-error.ts";

/** The spellings of flags that take no value. */
export function switchesOf(options: readonly Option[]): readonly string[] {
  return options
    .filter((option) => !option.required && !option.optional)
    .flatMap(({ short, long }) => [short, long].filter((name) => name !== undefined));
}

/**
 * The command line in the one form that the parser knows: `-o=json` becomes `-o json`, `--quiet=true` becomes
 * `--quiet`, `--quiet=false` disappears, or becomes `--no-quiet` where there is such a flag, and the other way round; what follows `--` stays as it is. Throws UsageError.
 */
export function normalizedArgs(
  args: readonly string[],
  switches: readonly string[],
): readonly string[] {
  const end = args.indexOf("--");
  const flagsEnd = end < 0 ? args.length : end;
  const flags = args.slice(0, flagsEnd).flatMap((arg) => {
    const [, name = "", value = ""] = /^(-{1,2}[A-Za-z][\w-]*)=(.*)$/s.exec(arg) ?? [];
    if (switches.includes(name)) return switchOf(name, value, switches);
    return /^-[A-Za-z]$/.test(name) ? [name, value] : [arg];
  });
  return [...flags, ...args.slice(flagsEnd)];
}

function switchOf(name: string, value: string, switches: readonly string[]): readonly string[] {
  if (["true", "1", "t"].includes(value.toLowerCase())) return [name];
  if (["false", "0", "f"].includes(value.toLowerCase())) {
    const opposite = name.startsWith("--no-")
      ? name.replace("--no-", "--")
      : name.replace(/^--/, "--no-");
    return opposite !== name && switches.includes(opposite) ? [opposite] : [];
  }
  throw new UsageError(`Invalid value "${value}" for ${name}: want true or false`);
}
