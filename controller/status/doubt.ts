import type { ComponentStatus } from "../../api/component.ts";
import { conditionOf, readyOf, withCondition } from "../../api/conditions.ts";
import { kindId } from "../../api/keys.ts";
import { nameFirst } from "../../api/kubernetes.ts";
import { rollingOut } from "../../api/reasons.ts";
import { planObjects } from "../../installation/plan.ts";
import { isWorkload, readinessOf } from "../../installation/readiness.ts";
import { workloadName } from "../../installation/workload-facts.ts";
import { isHolding } from "../apply/filters/conflicts.ts";
import { inventoryOf } from "../apply/install-state.ts";
import type { InstallationMemory } from "../apply/installation-memory.ts";
import type { Observation } from "../observe/observation.ts";

/** Why the watches of an installation contradict the claim of its status that all workloads are available. */
export interface Doubt {
  readonly status: "False" | "Unknown";
  readonly reason: "NotReady" | "NotSynced" | typeof rollingOut;
  readonly message: string;
}

/** The state of an installation in the watches and in the memory of this process. Needs no request. */
export interface WatchedState {
  readonly observation: Pick<
    Observation,
    "objects" | "workloads" | "refused" | "behind" | "pending"
  >;
  readonly memory: Pick<InstallationMemory, "state">;
}

const type = "DeploymentsAvailable";
const maxNamed = 10;

/** The doubt that the watches give; undefined without one, or before the desired state is known. */
export function doubtOf({ observation, memory }: WatchedState): Doubt | undefined {
  const refused = observation.refused();
  const { desired, left } = memory.state;
  const keys = (desired?.objects ?? [])
    .filter(({ key, id }) => isWorkload(key) && !left.has(id))
    .map(({ key }) => key)
    .filter((key) => !refused.has(kindId(key)));
  const behind = observation.behind();
  if (keys.some((key) => behind.has(kindId(key)))) {
    const message = "The watches of the cluster were interrupted; what is there is being read anew";
    return { status: "Unknown", reason: "NotSynced", message };
  }
  // Before the first list of a kind has arrived, such as after a start, nothing is known of it.
  const pending = new Set(observation.pending().map(kindId));
  if (keys.some((key) => pending.has(kindId(key)))) return undefined;
  const { available, message, isRollingOut } = readinessOf(keys, observation.workloads());
  if (!available) {
    return { status: "False", reason: isRollingOut ? rollingOut : "NotReady", message };
  }
  const changed = changedWorkloads({ observation, memory });
  if (changed.length === 0) return undefined;
  const named = nameFirst(changed, maxNamed);
  const text = `${changed.length} of ${keys.length} not as they were applied: ${named}`;
  return { status: "False", reason: "NotReady", message: text };
}

/** The status without the claim that all workloads are available. The object itself when it has no such claim. */
export function retractedStatus(status: ComponentStatus, doubt: Doubt, now: Date): ComponentStatus {
  const { conditions = [] } = status;
  const claim = conditionOf(conditions, type);
  if (claim?.status !== "True") return status;
  const doubted = withCondition(conditions, { type, ...doubt }, now);
  const ready = { type: "Ready", ...readyOf(doubted) };
  return { ...status, conditions: withCondition(doubted, ready, now) };
}

/** Names of workloads that were changed since our last apply; none while a conflict holds repairs back. */
function changedWorkloads({ observation, memory }: WatchedState): readonly string[] {
  const { desired, appliedAt, conflicts, left } = memory.state;
  const inventory = inventoryOf(memory.state);
  if (desired === undefined || inventory === undefined || isHolding(conflicts)) return [];
  const observed = observation.objects();
  const refused = observation.refused();
  const plan = planObjects(desired.objects, { inventory, observed, refused, appliedAt });
  const names = plan.apply
    .filter(({ key, id }) => plan.drifted.has(id) && isWorkload(key))
    .filter(({ id }) => !left.has(id))
    .map(({ key }) => workloadName(key));
  return [...new Set(names)].toSorted();
}
