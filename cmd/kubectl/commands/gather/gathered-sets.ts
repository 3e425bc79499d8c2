import { placementLabels } from "../../../../access/providers/placement.ts";
import type { Component } from "../../../../api/component.ts";
import { isRecord } from "../../../../api/fields.ts";
import { type FleetSet, setLabels } from "../../../../api/fleet-set.ts";
import { ocmLabels } from "../../../../controller/sets/find-selection.ts";
import { isNarrowed } from "../../action.ts";
import { malformedSet, servedSets } from "../../hub/fleet-sets.ts";
import { ownerSetOf } from "../../hub/set-view.ts";
import { stringAt } from "../../selection/fields.ts";
import type { Selection } from "../../selection/selection.ts";
import { allSetKinds } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { ListOptions, ObjectRow, ServedKind } from "../../spokes/object-table.ts";

type Listed = Omit<ListOptions, "fieldSelector" | "kind">;

/** What is gathered of fleet sets, on the hub alone. */
export interface SetPlan {
  readonly sets: readonly FleetSet[];
  /** The uids of what is no set, and is gathered because it may explain a fault. */
  readonly malformed?: ReadonlySet<string>;
  /** Whether ControllerRevisions without a set are wanted, too. */
  readonly isWhole: boolean;
}

/** The sets to gather: those of the selected installations, and without a filter all of the namespace. Undefined on a hub without sets. Throws what KubeClient throws, also for a right that is missing. */
export async function planSets(
  components: readonly Component[],
  { access, selection, isWhole }: SetPlanDeps,
  signal: AbortSignal,
): Promise<SetPlan | undefined> {
  const owners = new Set(components.flatMap((component) => idOf(ownerSetOf(component)) ?? []));
  const isPart = isNarrowed(selection);
  if (isPart && owners.size === 0) return undefined;
  const { namespace } = selection;
  const where = { kinds: allSetKinds, ...(namespace === undefined ? {} : { namespace }) };
  const served = await servedSets(access, where, signal);
  const isWanted = ({ kind, metadata }: FleetSet): boolean =>
    !isPart || owners.has(idOf({ kind, ...metadata }) ?? "");
  if (served === undefined) return undefined;
  const malformed = isPart ? [] : served.malformed;
  for (const set of malformed) access.malformed?.add(malformedSet(set));
  return {
    sets: served.sets.filter(isWanted),
    malformed: new Set(malformed.map(({ uid }) => uid)),
    isWhole,
  };
}

interface SetPlanDeps {
  readonly access: ClusterAccess;
  readonly selection: Selection;
  readonly isWhole: boolean;
}

/** The lists of a kind that belongs to fleet sets, and which of the listed objects are wanted; undefined for other kinds. */
export function setLists(
  { group, plural }: Pick<ServedKind, "group" | "plural">,
  { sets, malformed, isWhole }: SetPlan,
):
  | {
      readonly lists: readonly Listed[];
      readonly isWanted: (object: ObjectRow["object"]) => boolean;
    }
  | undefined {
  const id = `${group}/${plural}`;
  if (id === "knfleet.dev/knativeservingsets" || id === "knfleet.dev/knativeeventingsets") {
    const uids = new Set(sets.map(({ metadata }) => metadata.uid));
    return {
      lists: [{ namespace: undefined, labelSelector: undefined }],
      isWanted: (object) => {
        const uid = stringAt(object, "metadata", "uid") ?? "";
        return uids.has(uid) || malformed?.has(uid) === true;
      },
    };
  }
  if (id === "apps/controllerrevisions") {
    const known = new Set(sets.map(({ kind, metadata }) => idOf({ kind, ...metadata })));
    const all = { namespace: undefined, labelSelector: setLabels.set };
    return {
      lists: isWhole || sets.length > 0 ? [all] : [],
      isWanted: (object) => isWhole || known.has(revisionOwner(object)),
    };
  }
  const from = sources[id];
  if (from === undefined) return undefined;
  return { lists: sets.flatMap((set) => from(set) ?? []), isWanted: () => true };
}

/** The decisions that a set names, by group and plural of their kind. */
const sources: Readonly<Record<string, (set: FleetSet) => Listed | undefined>> = {
  "multicluster.x-k8s.io/placementdecisions": ({ metadata: { namespace }, spec }) => {
    const { decisionKey, placementKey } = spec.clusters.placementDecision ?? {};
    const label = decisionKey === undefined ? placementLabels.placement : placementLabels.key;
    const value = decisionKey ?? placementKey;
    return value === undefined ? undefined : { namespace, labelSelector: `${label}=${value}` };
  },
  "cluster.open-cluster-management.io/placementdecisions": ({ metadata: { namespace }, spec }) => {
    const name = spec.clusters.ocmPlacement?.name;
    const labelSelector = `${ocmLabels.placement}=${name ?? ""}`;
    return name === undefined ? undefined : { namespace, labelSelector };
  },
};

function revisionOwner({ metadata }: ObjectRow["object"]): string | undefined {
  const labels = isRecord(metadata) ? metadata["labels"] : undefined;
  const [kind, name] = [setLabels.kind, setLabels.set].map((key) =>
    isRecord(labels) ? labels[key] : undefined,
  );
  return idOf({ kind, name, namespace: stringAt(metadata, "namespace") });
}

function idOf(
  set: { readonly kind: unknown; readonly namespace: unknown; readonly name: unknown } | undefined,
): string | undefined {
  return set === undefined ? undefined : JSON.stringify([set.kind, set.namespace, set.name]);
}
