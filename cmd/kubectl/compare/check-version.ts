import { migrationRefusal } from "../../../render/release/version.ts";
import { UsageError } from "../errors.ts";

/** Throws UsageError for a `--version` that no release can be; undefined is none. */
export function checkVersion(version: string | undefined): void {
  if (version === undefined) return;
  const known = { kind: "KnativeServing", installed: undefined } as const;
  if (version !== "" && migrationRefusal({ ...known, target: version }) === undefined) return;
  throw new UsageError(
    `Invalid value "${version}" for --version: want a version such as 1.23.0, 1.23 or latest`,
  );
}
