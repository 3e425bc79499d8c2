import type { Component } from "../../../api/component.ts";
import { isSameJson } from "../../../api/fields.ts";
import { type FleetSet, setLabels } from "../../../api/fleet-set.ts";
import { nameFirst } from "../../../api/kubernetes.ts";
import { childNameOf } from "../../../controller/sets/child-object.ts";
import { contentOf } from "../../../sets/content.ts";
import { type DesiredSpec, revisionNameOf } from "../../../sets/desired-spec.ts";
import type { Member, SelectedCluster, SetFacts, Stage } from "../../../sets/facts.ts";
import { stagesWith } from "../../../sets/members.ts";
import { planRemovals } from "../../../sets/removals.ts";
import { inOrder, refusedClusters } from "../../../sets/stages.ts";

/** What the rollout would do with a cluster's component. `relabel` keeps its spec and what that renders. */
export type PlanAction =
  | "create"
  | "update"
  | "relabel"
  | "adopt"
  | "none"
  | "wait"
  | "blocked"
  | "excluded"
  | "orphan"
  | "delete";

/** One cluster of a set; unknown values are null. */
export interface RolloutPlanItem {
  readonly cluster: { readonly namespace: string; readonly name: string };
  /** Null when the set no longer selects the cluster. */
  readonly stage: string | null;
  /** Name of the component. */
  readonly component: string | null;
  /** The installed version. */
  readonly from: string | null;
  /** The desired version; null when the controller chooses it. */
  readonly to: string | null;
  readonly action: PlanAction;
  /** True when the spec of the component would change. */
  readonly changesSpec: boolean;
  readonly reason: string | null;
  readonly message: string | null;
}

export interface RolloutPlanSummary {
  readonly revision: string;
  readonly clusters: number;
  /** Components that would be written. */
  readonly writes: number;
  /** Components whose spec would change. */
  readonly changes: number;
  readonly blocked: number;
  readonly unselected: number;
  /** Facts that could not be read, and reasons why the rollout would not begin. */
  readonly warnings: readonly string[];
}

export interface FoundPlan {
  readonly summary: RolloutPlanSummary;
  readonly items: readonly RolloutPlanItem[];
}

const changing: readonly PlanAction[] = ["create", "update", "adopt"];

/**
 * Plans what a rollout would do with each cluster, in the order of the stages. Ignores gates and limits. Pure. `renderedAnew` has the names of the components that would get other
 * objects by the same spec.
 */
export function planRollout(
  facts: SetFacts,
  now: number,
  renderedAnew: ReadonlySet<string> = new Set(),
): FoundPlan {
  const { set, selection } = facts;
  const content = contentOf(set, facts);
  const name = revisionNameOf({ ...set, spec: content });
  if (selection.kind === "unusable") {
    const warning = `nothing is written or removed: ${selection.reason}: ${selection.message}`;
    return { summary: summaryOf(name, [], [warning]), items: [] };
  }
  const selected = selection.clusters;
  const revision = { name, number: 1, failed: false, content };
  const stages = stagesWith(facts, selected, { revision, retriedAt: undefined, now });
  const clusters = new Map(selected.map((one) => [`${one.namespace}/${one.name}`, one]));
  const items = stages.flatMap((stage) =>
    inOrder(stage.members, set.spec.rollout?.order ?? "Hashed", name).map((member) =>
      memberItem(member, { set, stage, cluster: clusters.get(member.key), renderedAnew }),
    ),
  );
  const left = unselectedItems(facts, selected, now);
  const all = [...items, ...left];
  return { summary: summaryOf(name, all, stopsOf(set, stages)), items: all };
}

/** Why the rollout would not begin. */
function stopsOf({ metadata, spec }: FleetSet, stages: readonly Stage[]): readonly string[] {
  const refused = refusedClusters(spec.rollout ?? {}, stages);
  return [
    ...(metadata.deletionTimestamp === undefined
      ? []
      : ["nothing begins: the set is being deleted"]),
    ...(refused.length === 0
      ? []
      : [
          `nothing begins: no stage selects ${nameFirst(refused, 3)}, and rollout.unmatched is Refuse`,
        ]),
  ];
}

function summaryOf(
  revision: string,
  items: readonly RolloutPlanItem[],
  warnings: readonly string[],
): RolloutPlanSummary {
  const count = (...actions: readonly PlanAction[]): number =>
    items.filter(({ action }) => actions.includes(action)).length;
  const unselected = count("orphan", "delete");
  return {
    revision,
    clusters: items.length - unselected,
    writes: count(...changing, "relabel"),
    changes: items.filter(({ changesSpec }) => changesSpec).length,
    blocked: count("blocked"),
    unselected,
    warnings,
  };
}

interface Context {
  readonly set: FleetSet;
  readonly stage: Stage;
  readonly cluster: SelectedCluster | undefined;
  readonly renderedAnew: ReadonlySet<string>;
}

function memberItem(
  member: Member,
  { set, stage, cluster, renderedAnew }: Context,
): RolloutPlanItem {
  const { key, child, desired } = member;
  const [namespace = "", name = ""] = key.split("/");
  const action = actionOf(member, renderedAnew);
  const changesSpec = changing.includes(action) && !isOfSpec(child, desired);
  return {
    cluster: { namespace, name },
    stage: stage.spec.name,
    component: child?.metadata.name ?? childNameOf(set, cluster ?? { namespace, name }),
    from: child?.status?.version ?? null,
    to: versionOf(desired),
    action,
    changesSpec,
    ...saidOf(member, action, changesSpec),
  };
}

/** Why the component would not be written, or what changes by an update without another spec; nulls for all else. */
function saidOf({ state }: Member, action: PlanAction, changesSpec: boolean) {
  if (action === "update" && !changesSpec) {
    return { reason: null, message: "The release files or the rendering have changed" };
  }
  if (action === "relabel" || changing.includes(action)) return { reason: null, message: null };
  return { reason: state.reason, message: state.message === "" ? null : state.message };
}

function versionOf(desired: DesiredSpec): string | null {
  if ("missing" in desired) return null;
  const { version } = desired.spec;
  return typeof version === "string" && version !== "" ? version : null;
}

function actionOf(
  { child, state, desired }: Member,
  renderedAnew: ReadonlySet<string>,
): PlanAction {
  if (state.name === "Excluded") return "excluded";
  if (state.name === "Blocked") return "blocked";
  if (state.name === "Unreachable" || state.reason === "Deleting") return "wait";
  if (state.name !== "Pending") return "none";
  if (child === undefined) return "create";
  if (child.metadata.labels?.[setLabels.set] === undefined) return "adopt";
  const keeps = isOfSpec(child, desired) && !renderedAnew.has(child.metadata.name);
  return keeps ? "relabel" : "update";
}

function isOfSpec(child: Component | undefined, desired: DesiredSpec): boolean {
  if (child === undefined) return false;
  const { clusterProfileRef: _ref, ...own } = child.spec ?? {};
  return "spec" in desired && isSameJson(desired.spec, own);
}

/** Items for the components of the set on clusters that it no longer selects. Spec: sets.md R11. */
function unselectedItems(
  facts: SetFacts,
  selected: readonly SelectedCluster[],
  now: number,
): readonly RolloutPlanItem[] {
  const { spec } = facts.set;
  const { left, suspicious } = planRemovals(facts, selected, now);
  const held = "The selection loses many clusters at once: they stay until somebody accepts that";
  return left.flatMap((child): readonly RolloutPlanItem[] => {
    const ref = child.spec?.clusterProfileRef;
    if (ref === undefined) return [];
    return [
      {
        cluster: { namespace: ref.namespace, name: ref.name },
        stage: null,
        component: child.metadata.name,
        from: child.status?.version ?? null,
        to: null,
        action: spec.whenUnselected?.policy === "Delete" ? "delete" : "orphan",
        changesSpec: false,
        reason: suspicious === undefined ? "NotSelected" : "SuspiciousShrink",
        message: suspicious === undefined ? null : held,
      },
    ];
  });
}
