import type { ObjectKey } from "../../api/kubernetes.ts";
import {
  isWorkload,
  type Readiness,
  readinessOf,
  waitingAmong,
} from "../../installation/readiness.ts";
import type { Observation } from "./observation.ts";
import { kindIdOf } from "./sighting.ts";
import type { CauseDeps, WorkloadCauses } from "./workload-causes.ts";

/** Readiness of the workloads that may be watched. */
export interface VisibleReadiness extends Readiness {
  /** Why nothing is known of the others, in words of ours; undefined when there are none. */
  readonly unseen: string | undefined;
}

export interface Visibility extends CauseDeps {
  readonly observation: Pick<Observation, "workloads" | "refused">;
  readonly causes: WorkloadCauses;
}

/** How the desired workloads are doing, and why some that have waited for a while are not available. */
export async function visibleReadiness(
  desired: readonly ObjectKey[],
  { observation, causes, ...deps }: Visibility,
  signal: AbortSignal,
): Promise<VisibleReadiness> {
  const refused = observation.refused();
  const refusalOf = (key: ObjectKey): string | undefined =>
    isWorkload(key) ? refused.get(kindIdOf(key)) : undefined;
  const seen = desired.filter((key) => refusalOf(key) === undefined);
  const [unseen] = desired.flatMap((key) => refusalOf(key) ?? []).toSorted();
  const waiting = waitingAmong(seen, observation.workloads());
  const found = await causes.of(waiting, deps, signal);
  return { ...readinessOf(seen, observation.workloads(), found), unseen };
}
