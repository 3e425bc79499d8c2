import { type Component, operatorApiVersion } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { isRecord } from "../../api/fields.ts";
import {
  type FleetSet,
  fleetSetKinds,
  setAnnotations,
  setFieldManager,
  setLabels,
} from "../../api/fleet-set.ts";
import type { JsonObject, ManagedFieldsEntry, Manifest } from "../../api/kubernetes.ts";
import { shortHashOf } from "../../sets/desired-spec.ts";
import type { SelectedCluster, Stamp } from "../../sets/facts.ts";
import { setSelectorOf } from "../../sets/revision-object.ts";
import { ownerKeyOf, setKeyOf } from "./set-caches.ts";

const longestName = 200;

/** Name of a new component: the one of the set and the one of the ClusterProfile, with its namespace where the set selects several. Pure. Spec: sets.md 5. */
export function childNameOf(
  { metadata, spec }: FleetSet,
  { namespace, name }: SelectedCluster,
): string {
  const namespaces = spec.clusters.selector?.namespaces ?? [metadata.namespace];
  const isAlone = namespaces.length === 1 && namespaces[0] === namespace;
  const parts = isAlone || spec.clusters.from === "OCMPlacement" ? [name] : [namespace, name];
  const full = [metadata.name, ...parts].join("-");
  if (full.length <= longestName) return full;
  return `${full.slice(0, longestName - 11)}-${shortHashOf(full)}`;
}

/** Name of the component that a stamp writes: one that exists keeps its own. */
export function stampedNameOf(set: FleetSet, { child, cluster }: Stamp): string {
  const [namespace = "", name = ""] = cluster.split("/");
  return child?.metadata.name ?? childNameOf(set, { namespace, name });
}

/**
 * Whether a set has stamped a component. Labels are not enough: a copy under another name has them, too, and a component of a backup may be of a set
 * that had the name before.
 */
export function isChildOf(component: Component, set: FleetSet): boolean {
  const { name, annotations = {} } = component.metadata;
  return (
    ownerKeyOf(component) === setKeyOf(set) &&
    annotations[setAnnotations.setUid] === set.metadata.uid &&
    annotations[setAnnotations.component] === name
  );
}

/** The component as a set applies it: spec, revision and time in one write. Spec: sets.md R4. */
export function childObject(set: FleetSet, stamp: Stamp, now: Date): Manifest {
  const { template, desired } = stamp;
  const { labels = {}, annotations = {} } = template.metadata ?? {};
  const [namespace = "", name = ""] = stamp.cluster.split("/");
  const component = stampedNameOf(set, stamp);
  return {
    apiVersion: operatorApiVersion,
    kind: fleetSetKinds[set.kind].component,
    metadata: {
      namespace: set.metadata.namespace,
      name: component,
      labels: {
        ...labels,
        ...setSelectorOf(set),
        [setLabels.revision]: stamp.revision,
        [setLabels.stage]: stamp.stage,
      },
      annotations: {
        ...annotations,
        [setAnnotations.updatedAt]: timestampOf(now),
        [setAnnotations.setUid]: set.metadata.uid,
        [setAnnotations.component]: component,
        [setAnnotations.spec]: desired.hash,
      },
    },
    spec: {
      ...desired.spec,
      clusterProfileRef: { name, namespace },
    },
  };
}

/** The managedFields that give a set the whole spec of a component that others wrote, so that the next apply removes what the set does not want. Spec: sets.md R8. */
export function adoptedFields(
  entries: readonly ManagedFieldsEntry[],
): readonly ManagedFieldsEntry[] {
  const specs = entries
    .filter(({ subresource }) => subresource === undefined)
    .map(specFieldsOf)
    .filter((fields) => fields !== undefined);
  const others = entries.flatMap((entry) => withoutSpec(entry));
  const [first] = specs;
  if (first === undefined) return others;
  const whole = specs.reduce(mergeFields);
  const { apiVersion = operatorApiVersion } = entries.find((one) => specFieldsOf(one)) ?? {};
  return [
    ...others,
    {
      manager: setFieldManager,
      operation: "Apply",
      apiVersion,
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": whole },
    },
  ];
}

/** The metadata patch that takes a component out of its set and keeps its spec. */
export function releasePatch(child: Component, entries: readonly ManagedFieldsEntry[]) {
  const remaining = entries.filter(({ manager }) => manager !== setFieldManager);
  return {
    resourceVersion: child.metadata.resourceVersion,
    labels: removalOf(Object.values(setLabels)),
    annotations: removalOf(Object.values(setAnnotations)),
    // An empty list would leave them as they are.
    managedFields: remaining.length === 0 ? [{}] : remaining,
  };
}

function removalOf(names: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(names.map((name) => [name, null]));
}

function specFieldsOf({ fieldsV1 }: ManagedFieldsEntry): JsonObject | undefined {
  const spec = fieldsV1?.["f:spec"];
  return isFields(spec) ? spec : undefined;
}

function withoutSpec(entry: ManagedFieldsEntry): readonly ManagedFieldsEntry[] {
  if (entry.subresource !== undefined || specFieldsOf(entry) === undefined) return [entry];
  const { "f:spec": _spec, ...fieldsV1 } = entry.fieldsV1 ?? {};
  return Object.keys(fieldsV1).length === 0 ? [] : [{ ...entry, fieldsV1 }];
}

function mergeFields(one: JsonObject, other: JsonObject): JsonObject {
  const merged = new Map(Object.entries(one));
  for (const [name, fields] of Object.entries(other)) {
    const known = merged.get(name);
    merged.set(name, isFields(known) && isFields(fields) ? mergeFields(known, fields) : fields);
  }
  return Object.fromEntries(merged);
}

function isFields(value: unknown): value is JsonObject {
  return isRecord(value);
}
