import { ApiError } from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import { type Anchor, anchorRef } from "../anchor/anchor.ts";
import type { Work } from "../install-work.ts";

interface Rooted {
  /** What there was of the anchor when the attempt began. */
  readonly before: Anchor | undefined;
  readonly work: Work;
  /** Makes the anchor, or returns what there was. */
  readonly make: () => Promise<Anchor>;
}

/** An anchor that was made, and whether it was the first one. */
interface Attempt {
  readonly anchor: Anchor;
  /** Awaited by whoever is about to write; rejects otherwise. */
  readonly first: Promise<void>;
  /** Nothing was ever accepted under it. */
  readonly isNewcomer: boolean;
}

/**
 * Works under an anchor and asks meanwhile whether it was the first one, where nothing was ever accepted under it. An anchor that was second is removed again, so that
 * it is in nobody's way, and the FleetError that the question was answered with is thrown.
 */
export async function unlessSecond<T>(
  { before, work, make }: Rooted,
  signal: AbortSignal,
  carryOut: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const { deps } = work;
  const isNewcomer = before === undefined || isUntouched(before);
  const making = make();
  const first = (isNewcomer ? deps.assertFirst?.(making, signal) : undefined) ?? Promise.resolve();
  let refusal: unknown;
  first.catch((reason: unknown) => (refusal = reason));
  const anchor = await making;
  try {
    return await carryOut({ anchor, first, isNewcomer });
  } catch (error) {
    if (error === refusal && isOfNeighbour(error)) await withdraw(anchor, work, signal);
    throw error;
  }
}

/** The attempt that made it ended before anything was accepted, and perhaps before it had asked. */
function isUntouched({ inventory }: Anchor): boolean {
  return inventory?.entries.every(({ fingerprint }) => fingerprint === undefined) === true;
}

function isOfNeighbour(error: unknown): boolean {
  const reasons: readonly string[] = ["DuplicateComponent", "AnchorConflict"];
  return error instanceof FleetError && reasons.includes(error.reason);
}

/** Nothing is owned by it yet. One that stays is asked about again. */
async function withdraw(
  { uid }: Anchor,
  { component, target, memory, deps }: Work,
  signal: AbortSignal,
): Promise<void> {
  const ref = anchorRef({ component, target });
  try {
    await target.client.remove(ref, { propagationPolicy: "Background", uid }, signal);
    memory.withdrawn();
  } catch (err) {
    if (!(err instanceof ApiError)) throw err;
    deps.log.debug({ err }, "The anchor that was second could not be removed");
  }
}
