import type { Traces } from "./traces.ts";

/**
 * Which of the names by which clusters were read are those of one and the same cluster: several ClusterProfiles may lead to one, also
 * to the hub. Uids are never given twice, so names under which the same object was seen mean one cluster.
 */
export function sameClusters(
  traces: ReadonlyMap<string, Traces>,
): readonly (readonly [ids: ReadonlySet<string>, traces: Traces])[] {
  const groups: { ids: Set<string>; uids: Set<string>; traces: Traces }[] = [];
  for (const [id, seen] of traces) {
    const uids = uidsOf(seen);
    const same = groups.filter((group) => !group.uids.isDisjointFrom(uids));
    const [first, ...others] = same;
    if (first === undefined) {
      groups.push({ ids: new Set([id]), uids, traces: seen });
      continue;
    }
    first.ids = new Set([...same.flatMap(({ ids }) => [...ids]), id]);
    first.uids = new Set([...same.flatMap((group) => [...group.uids]), ...uids]);
    first.traces = mostOf([...same.map((group) => group.traces), seen]);
    for (const other of others) groups.splice(groups.indexOf(other), 1);
  }
  return groups.map((group) => [group.ids, group.traces]);
}

function uidsOf({ anchors, marked, guarded }: Traces): Set<string> {
  return new Set([...anchors, ...marked, ...guarded].map(({ metadata }) => metadata.uid));
}

/** What was seen by the name that may list most. */
function mostOf(all: readonly Traces[]): Traces {
  return all.reduce((best, one) => (one.denied.length < best.denied.length ? one : best));
}
