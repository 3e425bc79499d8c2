import { refusedReference } from "../../access/providers/reference-policy.ts";
import type { References } from "../../access/providers/references.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { isLatecomer, olderTwinOf, wasTakenUp } from "./duplicate.ts";
import { hasFinalizer } from "./finalizer.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";

/** Absent: every component may use every ClusterProfile. */
interface Permissions {
  readonly references?: Pick<References, "policy">;
}

/** Why a component may not use the cluster that it names, as a sentence; undefined when it may. The hub itself is nobody's to grant. */
export function refusalOf(
  { metadata, spec }: Component,
  { references }: Permissions,
): string | undefined {
  const ref = spec?.clusterProfileRef;
  if (ref === undefined || references === undefined) return undefined;
  return refusedReference(metadata.namespace, ref, references.policy);
}

/** Throws FleetError `ReferenceNotPermitted` for a component that may not use its cluster. Security: T-04. */
export function assertPermitted(component: Component, permissions: Permissions): void {
  const refusal = refusalOf(component, permissions);
  if (refusal !== undefined) throw new FleetError("ReferenceNotPermitted", refusal);
}

/** Whether nothing may be done for a component for which nothing was done before: it can be deleted at any time. */
export function isHeldBack(
  component: Component,
  deps: Permissions & Pick<ReconcileDeps, "components">,
): boolean {
  if (hasFinalizer(component)) return false;
  if (refusalOf(component, deps) !== undefined) return true;
  return isLatecomer(component) && olderTwinOf(component, claimantsOf(deps)) !== undefined;
}

/**
 * The components that have a claim to their cluster: one that may not use it, and never did, keeps nobody from it.
 */
export function* claimantsOf({
  components,
  references,
}: Permissions & Pick<ReconcileDeps, "components">): Generator<Component> {
  const permissions = references === undefined ? {} : { references };
  for (const component of components.all()) {
    if (wasTakenUp(component) || refusalOf(component, permissions) === undefined) yield component;
  }
}

/**
 * Leaves the cluster of a component alone that may not use it any more: nothing there is watched, guarded or put right. What is installed stays,
 * also the policies that guard the anchor. Security: T-05.
 */
export async function leaveAlone(
  { component, installation }: Subject,
  { guards }: Pick<ReconcileDeps, "guards">,
): Promise<void> {
  guards.withdraw(component);
  await installation.closeView();
}
