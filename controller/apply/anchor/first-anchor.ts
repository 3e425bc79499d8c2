import { ApiError } from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import type { InstallAttempt } from "../install-attempt.ts";
import { withoutAnchor } from "../install-state.ts";
import { type Anchor, anchorRef } from "./anchor.ts";

/** Whether an anchor is the first one on its cluster. */
export interface FirstAnswer {
  /** Awaited before anything is sent; rejects where another installation was first. */
  readonly beforeFirstObject: () => Promise<void>;
  /** Nothing was ever accepted under the anchor. */
  readonly isNewcomer: boolean;
  /** Whether an error is that rejection. */
  readonly isRefusal: (error: unknown) => boolean;
}

/** Asks whether an anchor is the first one on its cluster, while the anchor is being created. Only for an anchor under which nothing was ever accepted. */
export function askWhetherFirst(
  making: Promise<Anchor>,
  { before, attempt }: { readonly before: Anchor | undefined; readonly attempt: InstallAttempt },
  signal: AbortSignal,
): FirstAnswer {
  const isNewcomer = before === undefined || isUntouched(before);
  const asked = isNewcomer ? attempt.deps.assertFirst?.(making, signal) : undefined;
  const first = asked ?? Promise.resolve();
  let refusal: unknown;
  first.catch((reason: unknown) => (refusal = reason));
  return { beforeFirstObject: () => first, isNewcomer, isRefusal: (error) => error === refusal };
}

/** Removes an anchor that was second, with nothing under it, so that it does not block the installation that was first. */
export async function withdrawIfSecond(
  error: unknown,
  {
    anchor,
    isRefusal,
    attempt,
  }: FirstAnswer & { readonly anchor: Anchor; readonly attempt: InstallAttempt },
  signal: AbortSignal,
): Promise<void> {
  if (!isRefusal(error) || !isOfNeighbour(error)) return;
  const { component, target, memory, deps } = attempt;
  const ref = anchorRef({ component, target });
  const options = { propagationPolicy: "Background", uid: anchor.uid } as const;
  try {
    await target.client.remove(ref, options, signal);
    memory.become(withoutAnchor);
  } catch (err) {
    // The next attempt asks about an anchor that stays.
    if (!(err instanceof ApiError)) throw err;
    deps.log.debug({ err }, "The anchor that was second could not be removed");
  }
}

/** The attempt that made the anchor ended before anything was accepted, and perhaps before it had asked. */
function isUntouched({ inventory }: Anchor): boolean {
  return inventory?.entries.every(({ fingerprint }) => fingerprint === undefined) === true;
}

function isOfNeighbour(error: unknown): boolean {
  const reasons: readonly string[] = ["DuplicateComponent", "AnchorConflict"];
  return error instanceof FleetError && reasons.includes(error.reason);
}
