import { globMatches } from "../../api/cluster-profile.ts";
import type { VerifySpec } from "../../api/fleet-set.ts";
import { nameFirst } from "../../api/kubernetes.ts";
import {
  countedKind,
  isNewlyBroken,
  isReadyWorkload,
  type UserWorkload,
} from "../../installation/user-workloads.ts";
import type { Reply, WorkloadCounts } from "../../sets/check-answer.ts";
import { matchesLabels } from "../../sets/select-clusters.ts";

const mostNamed = 3;

/** The answer about the workloads of a cluster: good unless more of them broke since `since` than may. */
export function workloadsAnswer(
  workloads: readonly UserWorkload[],
  { maxNewlyBroken, ignore = {} }: NonNullable<VerifySpec["workloads"]>,
  since: number,
): Reply {
  const { namespaces = [], selector } = ignore;
  const counted = workloads.filter(
    ({ namespace, labels }) =>
      !namespaces.some((pattern) => globMatches(pattern, namespace)) &&
      (selector === undefined || !matchesLabels(selector, labels)),
  );
  const broken = counted.filter((one) => isNewlyBroken(one, since));
  const counts = countsOf(workloads);
  if (broken.length <= maxNewlyBroken) return { kind: "good", message: "", counted: counts };
  const names = broken.map(workloadText).toSorted();
  const may = maxNewlyBroken === 0 ? "" : `, maxNewlyBroken is ${maxNewlyBroken}`;
  const message = `${broken.length} of ${counted.length} broke since the cluster got the revision${may}: ${nameFirst(names, mostNamed)}`;
  return { kind: "bad", message, counted: counts };
}

function countsOf(workloads: readonly UserWorkload[]): WorkloadCounts {
  const counts = new Map<string, { ready: number; notReady: number }>();
  for (const one of workloads) {
    const kind = countedKind(one);
    const { ready, notReady } = counts.get(kind) ?? { ready: 0, notReady: 0 };
    const isReady = isReadyWorkload(one);
    counts.set(kind, { ready: ready + Number(isReady), notReady: notReady + Number(!isReady) });
  }
  return counts;
}

/** `Service shop/cart (RevisionFailed)`. */
function workloadText({ kind, namespace, name, reason, isObserved }: UserWorkload): string {
  const why = isObserved ? reason : "its change is not taken up";
  return `${kind} ${namespace}/${name}${why === "" ? "" : ` (${why})`}`;
}
