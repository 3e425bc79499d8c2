import { migrationRefusal } from "../../../render/release/version.ts";
import { UsageError } from "../errors.ts";
import { type CommandFlag, parsed } from "../main/command-flags.ts";

/** The flag `--version`, for tools as well. Throws UsageError for a value that no release can be. */
export function versionFlag(
  text: string,
  { isRequired = false } = {},
): CommandFlag<string | undefined> {
  const flag = parsed("--version <version>", text, (version) => {
    const known = { kind: "KnativeServing", installed: undefined } as const;
    const refusal = migrationRefusal({ ...known, target: version });
    if (version !== "" && refusal === undefined) return version;
    throw new UsageError(
      `Invalid value "${version}" for --version: want a version such as 1.23.0, 1.23 or latest`,
    );
  });
  const tool = { text: "Version of Knative, such as 1.23", maxLength: 100, isRequired };
  return { ...flag, tool };
}
