import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { Component } from "../../api/component.ts";
import { quoteValue } from "../../api/field-path.ts";
import { isRecord, isSameJson } from "../../api/fields.ts";
import { type FleetSet, setLabels } from "../../api/fleet-set.ts";
import { describe } from "../../api/kubernetes.ts";
import type { DesiredSpecs } from "../../sets/desired-spec.ts";
import { differingField } from "../../sets/differing-field.ts";
import type { Obstacle } from "../../sets/facts.ts";

/** Whether a set adopts a component that it did not write. */
export type Adoption =
  | { readonly kind: "take"; readonly component: Component }
  | { readonly kind: "leave"; readonly obstacle: Obstacle };

/** Decides whether a set adopts a component on one of its clusters. `isOwned` is true when the component belongs to another set. Pure. Spec: sets.md R8. */
export function judgeAdoption(
  set: FleetSet,
  { component, isOwned }: { readonly component: Component; readonly isOwned: boolean },
  { profile, specs }: { readonly profile: ClusterProfile; readonly specs: DesiredSpecs },
): Adoption {
  const subject = describe({ kind: component.kind, ...component.metadata });
  const { labels = {}, namespace } = component.metadata;
  if (isOwned) {
    const other = labels[setLabels.set] ?? "";
    return leave("Duplicate", `${subject} belongs to the set ${namespace}/${other}`);
  }
  if (namespace !== set.metadata.namespace) {
    const message = `${subject} has the cluster, in another namespace than the set; a set takes over components of its own`;
    return leave("NotOwned", message);
  }
  if (set.spec.adoption === "Always") return { kind: "take", component };
  if (set.spec.adoption === "Never") {
    return leave("NotOwned", `${subject} has the cluster, and adoption is Never`);
  }
  const desired = specs.of(profile);
  if ("missing" in desired) return { kind: "take", component };
  const { clusterProfileRef: _ref, ...written } = component.spec ?? {};
  const spec = specs.withExactVersion(written);
  if (isSameJson(desired.spec, spec)) return { kind: "take", component };
  const field = differingField(desired.spec, spec) ?? differingField(spec, desired.spec) ?? [];
  const [has, wants] = [spec, desired.spec].map((one) => valueAt(one, field));
  const message = `${subject} has the cluster, and its spec.${field.join(".")} differs: it has ${has}, the set wants ${wants}`;
  return leave("NotOwned", message);
}

function valueAt(spec: unknown, path: readonly string[]): string {
  let value = spec;
  for (const part of path) {
    if (Array.isArray(value)) value = value[Number(part)];
    else value = isRecord(value) ? value[part] : undefined;
  }
  return value === undefined ? "nothing" : quoteValue(value);
}

function leave(reason: string, message: string): Adoption {
  return { kind: "leave", obstacle: { reason, message } };
}
