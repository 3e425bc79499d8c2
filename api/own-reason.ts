import { conditionOf } from "./conditions.ts";
import type { Condition } from "./kubernetes.ts";
import type { Reason } from "./reasons.ts";

/** As in upstream, conditions have the reason `Error` for these and for ApplyFailed, which counts as a failure only after the deadline. `Stalled` tells them apart. */
const finalReasons: readonly string[] = ["ReleaseNotFound", "ManifestInvalid"] satisfies Reason[];

/** Texts that tell them apart without `Stalled`, which an agent on a spoke may not tell. The message of an ApplyFailed begins with the name of a cluster or an object. */
const finalErrors: readonly (readonly [Reason, RegExp])[] = [
  ["ReleaseNotFound", /^the manifests of the target version \S+ are not available to this release/],
  ["ReleaseNotFound", /^The release directory holds no /],
  ["ManifestInvalid", /^the version of the manifests \S+ of the component /],
  ["ManifestInvalid", /^(?:spec\.[\w-]|patch \d+ target )/],
];
const errorPrefix = "Install failed with message: ";

/** The reason of one of the conditions of a component; our own one where it is known and the condition says upstream's `Error`. */
export function ownReasonOf(
  { reason = "", message = "" }: Pick<Condition, "reason" | "message">,
  conditions: Parameters<typeof conditionOf>[0],
): string {
  if (reason !== "Error" || !message.startsWith(errorPrefix)) return reason;
  const { reason: stalled = "" } = conditionOf(conditions, "Stalled") ?? {};
  if (finalReasons.includes(stalled)) return stalled;
  const text = message.slice(errorPrefix.length);
  return finalErrors.find(([, pattern]) => pattern.test(text))?.[0] ?? reason;
}
