import { componentKeyOf } from "../../../api/component.ts";
import { decide } from "../../../sets/decide.ts";
import type { Decision, SetFacts } from "../../../sets/facts.ts";
import { type Case, type Outcome, timeOfCase } from "./case.ts";
import { factsOf } from "./facts.ts";

/** Decides about what a row gives, and says the decision in the words of the table. */
export function decided(row: Case): Outcome {
  const { facts, oldRevision } = factsOf(row);
  return wordsOf(decide(facts, timeOfCase(row)), { facts, oldRevision });
}

function wordsOf(
  { status, stamps, mark, removals, nextDecisionAt }: Decision,
  { facts, oldRevision }: { readonly facts: SetFacts; readonly oldRevision: string },
): Outcome {
  const { rollout = {}, stages = [], notable = [], conditions = [] } = status;
  return {
    stamps: stamps
      .map(({ cluster, revision }) => shortName(cluster) + (revision === oldRevision ? "@old" : ""))
      .join(" "),
    mark: mark === undefined ? "" : markWords(mark),
    phase: rollout.phase ?? "",
    stage: rollout.stage ?? "",
    waitingFor: (rollout.waitingFor ?? "").replaceAll(/prod-[0-9a-f]{10}/g, "REVISION"),
    nextDecisionAt: nextDecisionAt === undefined ? "" : timeWords(nextDecisionAt),
    clusters: Object.entries(status.clusters ?? {})
      .filter(([name, count]) => count > 0 && name !== "selected")
      .map(([name, count]) => `${count} ${name}`)
      .join(", "),
    stages: stages.map(({ name, state }) => `${name} ${state}`).join(", "),
    notable: notable
      .map(({ cluster, state, reason }) => `${shortName(cluster)} ${state} ${reason}`)
      .join(", "),
    removals: removalWords(removals, facts),
    conditions: conditions
      .map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)
      .join(", "),
  };
}

function markWords(mark: NonNullable<Decision["mark"]>): string {
  return mark.kind === "begin" ? `begin ${mark.number}` : mark.kind;
}

function removalWords(removals: Decision["removals"], { children }: SetFacts): string {
  const clusters = new Map(
    children.map((child) => [componentKeyOf(child).name, child.spec?.clusterProfileRef?.name]),
  );
  return (["markUnselected", "unmark", "orphan", "remove"] as const)
    .map((what) => [what, removals[what]] as const)
    .filter(([, keys]) => keys.length > 0)
    .map(([what, keys]) => `${what} ${keys.map(({ name }) => clusters.get(name)).join(" ")}`)
    .join(", ");
}

function timeWords(time: number): string {
  const [day, hour = ""] = new Date(time).toISOString().split("T");
  const short = hour.slice(0, 8);
  return day === "2026-11-25" ? short : `${day}T${short}Z`;
}

function shortName(cluster: string): string {
  return cluster.slice("fleet/".length);
}
