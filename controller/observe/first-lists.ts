import { FleetError } from "../../api/errors.ts";
import { type Clock, limited } from "../queue/clock.ts";
import type { Observation } from "./observation.ts";

// Far more than a slow cluster takes; what came until then is kept for the next attempt.
const patienceMs = 60_000;
const namedKinds = 5;

/**
 * Resolves when an observation knows what there is of its kinds, as `synced` does. Throws FleetError when that takes longer than a minute, which would
 * be waited for in silence: `SpokeUnreachable` where no kind is listed, as by a proxy that answers in place of an API server; `ApplyFailed` with
 * the kinds that are not, where others are.
 */
export async function firstLists(
  observation: Pick<Observation, "synced" | "live" | "pending">,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  using bounded = limited(clock, patienceMs, signal);
  try {
    await observation.synced(bounded.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!bounded.signal.aborted) throw error;
    if (observation.live().length === 0) {
      const message = "The cluster has listed nothing for a minute, whatever it was asked for";
      throw new FleetError("SpokeUnreachable", message, { code: "Unreachable", cause: error });
    }
    const plurals = observation.pending().map(({ plural }) => plural);
    const named = plurals.toSorted().slice(0, namedKinds).join(", ");
    const more = plurals.length > namedKinds ? ` and ${plurals.length - namedKinds} more` : "";
    const message = `The cluster has not said for a minute what there is of ${named}${more}`;
    throw new FleetError("ApplyFailed", message, { cause: error });
  }
}
