import { FleetError } from "../../../api/errors.ts";
import { assertEligible } from "../../../render/release/version.ts";
import { UsageError } from "../errors.ts";

/** Throws UsageError for a value of `--version` that no release can be. */
export function checkVersionFlag(version: string): void {
  if (version.toLowerCase() === "latest") return;
  try {
    assertEligible({ kind: "KnativeServing", installed: undefined, target: version });
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw new UsageError(
      `Invalid value "${version}" for --version: want a version such as 1.23.0, 1.23 or latest`,
    );
  }
}
