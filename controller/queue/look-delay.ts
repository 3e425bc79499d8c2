import type { ObservedChange } from "../observe/observation.ts";
import type { Installation } from "../reconcile/installation.ts";

const delaysMs = {
  workload: 20,
  // A Job's end is written in several steps, and which of them tells the reason costs a request to find out.
  job: 250,
  drift: 50,
};
// An object that somebody changes again and again is slowed down by itself; see conflicts.ts.
const driftIntervalMs = 250;

/** How long, in ms, a look at a change waits for others to be looked at with it. Drift is looked at four times a second at most, which `installation` remembers. */
export function lookDelayOf(
  { kind }: Pick<ObservedChange, "kind">,
  installation: Pick<Installation, "driftAt">,
  now: number,
): number {
  if (kind === "workload" || kind === "job") return delaysMs[kind];
  const at = Math.max(now + delaysMs.drift, installation.driftAt + driftIntervalMs);
  if (installation.driftAt <= now) installation.driftAt = at;
  return Math.max(0, installation.driftAt - now);
}
