import { type Component, operatorApiVersion } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { isRecord } from "../../api/fields.ts";
import {
  contentText,
  type FleetSet,
  fleetSetKinds,
  setAnnotations,
  setFieldManager,
  setLabels,
} from "../../api/fleet-set.ts";
import { ownerSetId, setId, namespacedName } from "../../api/keys.ts";
import type { JsonObject, ManagedFieldsEntry, Manifest } from "../../api/kubernetes.ts";
import type { Content } from "../../render/content.ts";
import { shortHashOf } from "../../sets/desired-spec.ts";
import type { SelectedCluster, Stamp } from "../../sets/facts.ts";
import { setSelectorOf } from "../../sets/revision-object.ts";

const longestName = 200;

/** Name of a new component: `<set>-<profile>`, or `<set>-<namespace>-<profile>` when the set selects from other namespaces. Pure. Spec: sets.md 5. */
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

/** Name of the component that a stamp writes. An existing component keeps its name. */
export function stampedNameOf(set: FleetSet, { child, cluster }: Stamp): string {
  return child?.metadata.name ?? childNameOf(set, namespacedName(cluster));
}

/**
 * True when a set has stamped a component. Its labels do not prove that: a copy under another name has them too, and a component from a backup may
 * belong to a deleted set of this name.
 */
export function isChildOf(component: Component, set: FleetSet): boolean {
  const { name, annotations = {} } = component.metadata;
  return (
    ownerSetId(component) === setId(set) &&
    annotations[setAnnotations.setUid] === set.metadata.uid &&
    annotations[setAnnotations.component] === name
  );
}

/** The component that a set applies. Spec, revision and time are one write. Spec: sets.md R4. */
export function childObject(
  set: FleetSet,
  stamp: Stamp,
  { now, content }: { readonly now: Date; readonly content: Content },
): Manifest {
  const { template, desired } = stamp;
  const { labels = {}, annotations = {} } = template.metadata ?? {};
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
        [setAnnotations.content]: contentText(content),
      },
    },
    spec: {
      ...desired.spec,
      clusterProfileRef: namespacedName(stamp.cluster),
    },
  };
}

/** The managedFields that make a set the owner of the whole spec of an adopted component, so that the next apply removes fields that the set lacks. Spec: sets.md R8. */
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

/** The patch of metadata that removes a component from its set and keeps its spec. */
export function releasePatch(child: Component, entries: readonly ManagedFieldsEntry[]) {
  const remaining = entries.filter(({ manager }) => manager !== setFieldManager);
  return {
    resourceVersion: child.metadata.resourceVersion,
    labels: removalOf(Object.values(setLabels)),
    annotations: removalOf(Object.values(setAnnotations)),
    // An empty list would not change managedFields; a list with an empty entry clears them.
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
