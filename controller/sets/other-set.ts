import type { FleetSet } from "../../api/fleet-set.ts";
import { nameId } from "../../api/keys.ts";
import { describe } from "../../api/kubernetes.ts";
import { isReadyWith } from "../../sets/cluster-state.ts";
import { hasRevision } from "../../sets/component-condition.ts";
import type { SelectedCluster } from "../../sets/facts.ts";
import { exclusionOf } from "../../sets/members.ts";
import { skipOf } from "../../sets/skips.ts";
import { type Candidate, stageOf, unmatchedStage } from "../../sets/stages.ts";
import { isChildOf } from "./child-object.ts";
import { componentKindOf, type HubView, placeOf } from "./hub-view.ts";

type View = Pick<HubView, "set" | "components" | "selectionOf" | "profiles">;

/** The key of the set that has to be done on a cluster before this one begins there; undefined: none. */
export function earlierSetKeyOf({ metadata, spec }: FleetSet): string | undefined {
  const { after } = spec.rollout ?? {};
  if (after === undefined) return undefined;
  return describe({ kind: after.kind, namespace: metadata.namespace, name: after.name });
}

/** By `namespace/name`: why a cluster of a set may not begin yet, because of `rollout.after`. A cluster that the other set does not select, or leaves as it is, does not wait. Pure. */
export function waitsOf(
  set: FleetSet,
  clusters: readonly SelectedCluster[],
  view: View,
): ReadonlyMap<string, string> {
  const key = earlierSetKeyOf(set);
  if (key === undefined) return new Map();
  const own = describe({
    kind: set.kind,
    namespace: set.metadata.namespace,
    name: set.metadata.name,
  });
  const other = earlierSet(key, own, view);
  const waits = clusters.flatMap((cluster) => {
    const name = nameId(cluster);
    const wait = typeof other === "string" ? other : waitOn(other, name, view);
    return wait === undefined ? [] : [[name, wait] as const];
  });
  return new Map(waits);
}

/** A set and the clusters that it selects, by key. */
interface Earlier {
  readonly set: FleetSet;
  readonly clusters: ReadonlyMap<string, SelectedCluster>;
}

/** The other set, or why no cluster may begin. */
function earlierSet(key: string, own: string, view: View): Earlier | string {
  const set = view.set(key);
  if (set === undefined || set.metadata.deletionTimestamp !== undefined) {
    return `${key} does not exist`;
  }
  if (earlierSetKeyOf(set) === own)
    return `${key} and this set wait for each other: take rollout.after off one of them`;
  const selection = view.selectionOf(set);
  if (selection.kind === "unusable") return `The clusters of ${key} are not known`;
  const isObserved = set.status?.observedGeneration === set.metadata.generation;
  if (!isObserved) return `${key} has a change that is not looked at yet`;
  return { set, clusters: new Map(selection.clusters.map((one) => [nameId(one), one])) };
}

function waitOn({ set, clusters }: Earlier, name: string, view: View): string | undefined {
  const cluster = clusters.get(name);
  if (cluster === undefined) return undefined;
  const candidate = { cluster, profile: view.profiles.get(name) };
  const revision = set.status?.updateRevision ?? "";
  if (isLeftOut(set, candidate, revision)) return undefined;
  const component = view
    .components(placeOf(componentKindOf(set), name))
    .find((one) => isChildOf(one, set));
  const isDone =
    component !== undefined &&
    hasRevision(component, revision) &&
    isReadyWith(component, component.spec?.version);
  return isDone ? undefined : `${set.kind} ${set.metadata.name} is not done on ${name}`;
}

/** Whether a set leaves a selected cluster as it is, always or in this revision. */
function isLeftOut(set: FleetSet, candidate: Candidate, revision: string): boolean {
  const stage = stageOf(set.spec.rollout?.stages ?? [], candidate);
  if (exclusionOf(set, candidate, stage) !== undefined) return true;
  const key = nameId(candidate.cluster);
  return skipOf(set, revision, { key, stage: stage ?? unmatchedStage }) !== undefined;
}
