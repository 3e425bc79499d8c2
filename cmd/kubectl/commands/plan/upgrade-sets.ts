import { ApiError } from "../../../../access/kube/api-error.ts";
import { allKinds, type Component } from "../../../../api/component.ts";
import { type FleetSet, setLabels } from "../../../../api/fleet-set.ts";
import { ownerSetId, setId, targetId } from "../../../../api/keys.ts";
import type { UpgradeSet } from "../../compare/upgrade.ts";
import { readPlanFacts } from "../../hub/plan-facts.ts";
import { planRollout, type RolloutPlanItem } from "../../hub/rollout-plan.ts";
import { ownerSetOf, setsBeside } from "../../hub/set-view.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";

/** The set of a component, with the version that it would give the component. */
export interface SetAtVersion {
  readonly set: UpgradeSet;
  /** Place in the order of the rollout. */
  readonly place: number;
  /** Null when the set could not be read. */
  readonly version: string | null;
}

interface SetDeps {
  readonly access: ClusterAccess;
  readonly version: string;
  readonly now: () => Date;
}

const atOnce = 4;

/**
 * For each component that a set has stamped: what the set would do with it, if the template of the set named `version`. By uid of the component. Throws
 * what KubeClient throws when the hub does not answer.
 */
export async function readSetsAtVersion(
  components: readonly Component[],
  { access, now, version }: SetDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SetAtVersion>> {
  const stamped = components.filter((component) => ownerSetOf(component) !== undefined);
  if (stamped.length === 0) return new Map();
  const sets = (await setsBeside(access, { kinds: allKinds }, signal)) ?? [];
  const groups = [...Map.groupBy(stamped, ownerSetId)];
  const found = await mapLimited(groups, atOnce, async ([id, members]) => {
    const set = sets.find((one) => setId(one) === id);
    const items = set === undefined ? [] : await planned(set, { access, now, version }, signal);
    return members.flatMap((component) => atVersion(component, items));
  });
  return new Map(found.flat());
}

/** The plan of a set whose template names a version; empty without the right to read what it needs. */
async function planned(
  set: FleetSet,
  { access, now, version }: SetDeps,
  signal: AbortSignal,
): Promise<readonly RolloutPlanItem[]> {
  const { template } = set.spec;
  const wanted = { ...template, spec: { ...template.spec, version } };
  try {
    const changed = { ...set, spec: { ...set.spec, template: wanted } };
    const { facts } = await readPlanFacts(access, changed, signal);
    return planRollout(facts, now().getTime()).items;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return [];
    throw error;
  }
}

function atVersion(
  component: Component,
  items: readonly RolloutPlanItem[],
): readonly (readonly [string, SetAtVersion])[] {
  const owner = ownerSetOf(component);
  if (owner === undefined) return [];
  const { uid, name, labels } = component.metadata;
  const place = items.findIndex(
    ({ cluster, component: child }) =>
      child === name && `${cluster.namespace}/${cluster.name}` === targetId(component),
  );
  const item = items[place];
  const set: UpgradeSet = {
    ...owner,
    stage: item?.stage ?? labels?.[setLabels.stage] ?? null,
    action: item?.action ?? null,
    message: item?.message ?? null,
  };
  return [[uid, { set, place, version: item?.to ?? null }]];
}
