import { ApiError } from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import { type Root, rootRefOf } from "../anchor/anchor.ts";
import type { Work } from "../install-work.ts";

interface Rooted {
  /** What there was of the root when the attempt began. */
  readonly before: Root | undefined;
  readonly work: Work;
  /** Makes the root, or returns what there was. */
  readonly make: () => Promise<Root>;
}

/** A root that was made, and whether it was the first one. */
interface Attempt {
  readonly root: Root;
  /** Awaited by whoever is about to write; rejects otherwise. */
  readonly first: Promise<void>;
  /** Nothing was ever accepted under it. */
  readonly isNewcomer: boolean;
}

/**
 * Works under a root and asks meanwhile whether it was the first one, where nothing was ever accepted under it. A root that was second is removed again, so that
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
  const root = await making;
  try {
    return await carryOut({ root, first, isNewcomer });
  } catch (error) {
    if (error === refusal && isOfNeighbour(error)) await withdraw(root, work, signal);
    throw error;
  }
}

/** The attempt that made it ended before anything was accepted, and perhaps before it had asked. */
function isUntouched({ inventory }: Root): boolean {
  return inventory?.entries.every(({ fingerprint }) => fingerprint === undefined) === true;
}

function isOfNeighbour(error: unknown): boolean {
  const reasons: readonly string[] = ["DuplicateComponent", "AnchorConflict"];
  return error instanceof FleetError && reasons.includes(error.reason);
}

/** Nothing is owned by it yet. One that stays is asked about again. */
async function withdraw(
  { uid }: Root,
  { component, target, memory, deps }: Work,
  signal: AbortSignal,
): Promise<void> {
  const ref = rootRefOf({ component, target });
  try {
    await target.client.remove(ref, { propagationPolicy: "Background", uid }, signal);
    memory.withdrawn();
  } catch (err) {
    if (!(err instanceof ApiError)) throw err;
    deps.log.debug({ err }, "The root that was second could not be removed");
  }
}
