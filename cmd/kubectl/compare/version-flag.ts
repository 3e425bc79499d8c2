import { type CommandFlag, parsed } from "../main/command-flags.ts";

/** The flag `--version`, for tools as well. Its value is to be given to `checkVersion`. */
export function versionFlag(
  text: string,
  { isRequired = false } = {},
): CommandFlag<string | undefined> {
  const flag = parsed("--version <version>", text, (version) => version);
  const tool = { text: "Version of Knative, such as 1.23", maxLength: 100, isRequired };
  return { ...flag, tool };
}
