import type { Component } from "../../../../api/component.ts";
import { type FleetSet, type RolloutPhase, setLabels } from "../../../../api/fleet-set.ts";
import { type OwnerSet, ownerSetOf, setItemOf, setsBeside, setText } from "../../hub/set-view.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { TreeNode } from "./tree-node.ts";

/** The sets of the namespace when a set has stamped one of the components; null where they may not be read. Throws what KubeClient throws. */
export async function setsOf(
  components: readonly Component[],
  { access, selection }: { readonly access: ClusterAccess; readonly selection: Selection },
  signal: AbortSignal,
): Promise<readonly FleetSet[] | null> {
  const isAsked = components.some((component) => ownerSetOf(component) !== undefined);
  return isAsked ? await setsBeside(access, selection, signal) : [];
}

/** What a set says of one of its components: the stage and the revision; nothing for others. */
export function stampText({ metadata: { labels } }: Component): readonly string[] {
  const stage = labels?.[setLabels.stage];
  const revision = labels?.[setLabels.revision];
  return [
    ...(stage === undefined ? [] : [`stage ${stage}`]),
    ...(revision === undefined ? [] : [`revision ${revision}`]),
  ];
}

/** The trees of components, those of one set below the set. */
export function belowSets(
  trees: readonly (readonly [component: Component, tree: TreeNode])[],
  sets: readonly FleetSet[] | null,
): readonly TreeNode[] {
  const byOwner = Map.groupBy(trees, ([component, tree]) => {
    const { kind, namespace, name } = ownerSetOf(component) ?? tree;
    return `${kind} ${namespace}/${name}`;
  });
  return [...byOwner.values()].flatMap((own) => {
    const nodes = own.map(([, tree]) => tree);
    const owner = own[0] === undefined ? undefined : ownerSetOf(own[0][0]);
    return owner === undefined ? nodes : [{ ...setNode(owner, sets), children: nodes }];
  });
}

const states: Readonly<Partial<Record<RolloutPhase, TreeNode["state"]>>> = {
  AwaitingApproval: "WARN",
  Paused: "WARN",
  Halted: "FAIL",
  Blocked: "FAIL",
  RollingBack: "FAIL",
  RolledBack: "FAIL",
};

function setNode(owner: OwnerSet, sets: readonly FleetSet[] | null): TreeNode {
  const node = { ...owner, cluster: null, children: [] };
  if (sets === null) return { ...node, state: "UNKNOWN", message: "The set may not be read" };
  const set = sets.find((each) => isOwner(owner, each));
  if (set === undefined) return { ...node, state: "WARN", message: "The set does not exist" };
  const item = setItemOf(set);
  const { phase } = item;
  const state = phase === null ? "UNKNOWN" : (states[phase] ?? "OK");
  return { ...node, state, message: setText(item) };
}

function isOwner(owner: OwnerSet, { kind, metadata }: FleetSet): boolean {
  const { namespace, name } = metadata;
  return owner.kind === kind && owner.namespace === namespace && owner.name === name;
}
