import { migrationRefusal } from "../../../render/release/version.ts";
import { UsageError } from "../errors.ts";

/** Throws UsageError for a value of `--version` that no release can be. */
export function checkVersionFlag(version: string): void {
  const refusal = migrationRefusal({
    kind: "KnativeServing",
    installed: undefined,
    target: version,
  });
  if (version !== "" && refusal === undefined) return;
  throw new UsageError(
    `Invalid value "${version}" for --version: want a version such as 1.23.0, 1.23 or latest`,
  );
}
