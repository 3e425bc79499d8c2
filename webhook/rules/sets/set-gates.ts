import { isSameJson, listAt, recordAt, textAt } from "../../../api/fields.ts";
import { goDurationMs } from "../../../api/go-duration.ts";
import { below, elementsOf, type Fields } from "../rule.ts";
import { rightToApprove } from "./set-approvals.ts";
import type { NeededRight, SetChange } from "./set-rule.ts";

const rolloutPath = below("spec", "rollout");
const stagesPath = below(rolloutPath, "stages");

/**
 * The right `approve`, for a change that lets clusters pass the stages of a set more easily: an approval, a part of a soak or of the time that a cluster has to be
 * ready, a stage or clusters are taken off the path, clusters of no stage come onto it, or clusters are asked something else before they are done. Limits, windows and deadlines are no gates: each approval and soak holds
 * with any of them. Between two rollouts it is needed too, because the gates could be taken off before the revision is written. Spec: sets.md R9.
 */
export function rightsToLoosen(change: SetChange): readonly NeededRight[] {
  const { spec, before, namespace } = change;
  const was = recordAt(before, "rollout");
  const rollout = recordAt(spec, "rollout");
  const old = elementsOf(was["stages"], stagesPath);
  if (old.length === 0) return [];
  const stages = elementsOf(rollout["stages"], stagesPath);
  const loosened = [
    ...loosenedClusters(recordAt(before, "clusters"), recordAt(spec, "clusters"), namespace),
    ...loosenedRollout(was, rollout),
    ...(stages.length > old.length && unmatchedOf(was) !== "Last" ? [stagesPath] : []),
    ...old.flatMap(([stage], index) => loosenedStage(stage, stages[index]?.[0] ?? {}, index)),
    ...old.flatMap(([stage], index) => {
      const own = stages[index]?.[0] ?? {};
      // `loosenedRollout` compares what the rollout asks.
      if (stage["verify"] === undefined && own["verify"] === undefined) return [];
      const isLess = isLessAsked(
        stage["verify"] ?? was["verify"],
        own["verify"] ?? rollout["verify"],
      );
      return isLess ? [below(stagesPath, index, "verify")] : [];
    }),
  ];
  return [...new Set(loosened)].map((path) => rightToApprove(change, path));
}

/** The gates of the whole rollout. Clusters of no stage are kept from the revision unless `unmatched` is `Last`; with `Exclude` the rollout goes on without them. */
function loosenedRollout(was: Fields, rollout: Fields): readonly string[] {
  const unmatched = unmatchedOf(rollout);
  const isUnmatched = unmatched !== "Refuse" && unmatched !== unmatchedOf(was);
  const isReadySooner = minReadySeconds(rollout) < minReadySeconds(was);
  return [
    ...(isUnmatched ? [below(rolloutPath, "unmatched")] : []),
    ...(isReadySooner ? [below(rolloutPath, "minReadySeconds")] : []),
    ...(isLessAsked(was["verify"], rollout["verify"]) ? [below(rolloutPath, "verify")] : []),
  ];
}

/** Whether clusters may be asked less: each change of what is asked can be that. */
function isLessAsked(was: unknown, now: unknown): boolean {
  return was !== undefined && !isSameJson(was, now);
}

function unmatchedOf(rollout: Fields): string {
  return textAt(rollout, "unmatched") ?? "Last";
}

function minReadySeconds({ minReadySeconds: seconds }: Fields): number {
  return typeof seconds === "number" ? seconds : 0;
}

/** The fields of a stage that let more pass. A stage that is new, renamed or moved takes clusters of the stages after it. */
function loosenedStage(was: Fields, stage: Fields, index: number): readonly string[] {
  const fields = ["name", "selector", "decisionGroup"] as const;
  if (fields.some((field) => !isSameJson(was[field], stage[field]))) return [stagesPath];
  const gates = ["before", "after"] as const;
  const at = below(stagesPath, index);
  const approvals = gates.filter((gate) => isApproved(was, gate) && !isApproved(stage, gate));
  return [
    ...approvals.map((gate) => below(at, gate, "approval")),
    ...(soakMs(stage) < soakMs(was) ? [below(at, "after", "soak")] : []),
  ];
}

function isApproved(stage: Fields, gate: "before" | "after"): boolean {
  return recordAt(stage, gate)["approval"] === true;
}

function soakMs(stage: Fields): number {
  return goDurationMs(textAt(recordAt(stage, "after"), "soak") ?? "0s") ?? 0;
}

/** The fields by which a set may lose clusters. Fewer exclusions are none of them. */
function loosenedClusters(was: Fields, clusters: Fields, home: string): readonly string[] {
  const path = below("spec", "clusters");
  if (!isSameJson({ ...was, exclude: [] }, { ...clusters, exclude: [] })) return [path];
  const known = new Set(excludedIn(was, home));
  const isMore = excludedIn(clusters, home).some((cluster) => !known.has(cluster));
  return isMore ? [below(path, "exclude")] : [];
}

function excludedIn(clusters: Fields, home: string): readonly string[] {
  return listAt(clusters, "exclude").map((one) => {
    const { namespace = home, name } = recordAt(one);
    return `${String(namespace)}/${String(name)}`;
  });
}
