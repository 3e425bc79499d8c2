import { refusedReference } from "../../access/providers/reference-policy.ts";
import type { References } from "../../access/providers/references.ts";
import { type Component } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { FleetError } from "../../api/errors.ts";
import { componentId, targetId } from "../../api/keys.ts";
import { type Condition } from "../../api/kubernetes.ts";
import { hasFinalizer } from "../component-identity.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";

/**
 * The older component of the same kind for the same cluster; undefined without one. The younger component touches nothing on the cluster, also when it is deleted.
 * Within the same second of creation, a component that was taken up is older than a new one, and a new one older than a refused one, so that no component loses its
 * cluster; then the uid decides. A latecomer is younger than all others.
 */
export function olderDuplicateOf(
  component: Component,
  all: Iterable<Component>,
): Component | undefined {
  let oldest = component;
  for (const other of all) {
    if (areRivals(other, component) && ageOf(other) < ageOf(oldest)) oldest = other;
  }
  return oldest.metadata.uid === component.metadata.uid ? undefined : oldest;
}

/** Whether two components are of one kind and for one cluster: only one of them may have it. */
export function areRivals(one: Component, other: Component): boolean {
  return one.kind === other.kind && targetId(one) === targetId(other);
}

/** Throws FleetError `DuplicateComponent` when another component has the cluster already. */
export function assertOnlyOne(component: Component, deps: ClaimDeps): void {
  const older = olderClaimantOf(component, deps);
  if (older === undefined) return;
  throw new FleetError(
    "DuplicateComponent",
    `${componentId(older)} is installed on the same cluster already`,
  );
}

/**
 * Whether something may have been installed for a component. The finalizer alone does not prove it, because a user can set one at creation; only the controller writes
 * the status.
 */
function wasTakenUp(component: Component): boolean {
  const { conditions = [] } = component.status ?? {};
  const { status, reason } = conditionOf(conditions, "InstallSucceeded") ?? {};
  const isRefused = reason === "DuplicateComponent";
  const hasResult = status === "True" || (reason !== undefined && !isRefused);
  return hasFinalizer(component) && hasResult;
}

/**
 * Whether a component was refused before anything was installed for it: other components may have got its cluster meanwhile. A component that waits for its cluster is no
 * latecomer.
 */
export function isLatecomer(component: Component): boolean {
  const { conditions = [] } = component.status ?? {};
  return !wasTakenUp(component) && conditions.some(isRefusal);
}

const refusals: readonly string[] = ["ReferenceNotPermitted", "DuplicateComponent"];

function isRefusal({ status, reason = "" }: Condition): boolean {
  return status === "False" && refusals.includes(reason);
}

function ageOf(component: Component): string {
  const { creationTimestamp = "", uid } = component.metadata;
  const turn = isLatecomer(component) ? "1 late" : "0 in time";
  return [turn, creationTimestamp, standingOf(component), uid].join("|");
}

function standingOf({ status }: Component): "0 taken up" | "1 new" | "2 refused" {
  if (status?.conditions === undefined) return "1 new";
  const isRefused = status.conditions.some(({ reason }) => reason === "DuplicateComponent");
  return isRefused ? "2 refused" : "0 taken up";
}

/** Absent: every component may use every ClusterProfile. */
interface Permissions {
  readonly references?: Pick<References, "policy">;
}

type ClaimDeps = Permissions & Pick<ReconcileDeps, "components">;

/** Why a component may not use its ClusterProfile, as a sentence; undefined when it may. The hub as a target needs no grant. */
export function claimRefusal(
  { metadata, spec }: Component,
  { references }: Permissions,
): string | undefined {
  const ref = spec?.clusterProfileRef;
  if (ref === undefined || references === undefined) return undefined;
  return refusedReference(metadata.namespace, ref, references.policy);
}

/** Throws FleetError `ReferenceNotPermitted` for a component that may not use its cluster. Security: T-04. */
export function assertPermitted(component: Component, permissions: Permissions): void {
  const refusal = claimRefusal(component, permissions);
  if (refusal !== undefined) throw new FleetError("ReferenceNotPermitted", refusal);
}

/** Whether a component without a finalizer must stay without one: it is not permitted, or a duplicate. It can be deleted at any time. */
export function isHeldBack(component: Component, deps: ClaimDeps): boolean {
  if (hasFinalizer(component)) return false;
  if (claimRefusal(component, deps) !== undefined) return true;
  return isLatecomer(component) && olderClaimantOf(component, deps) !== undefined;
}

/** The older component that has the cluster of a component, among those that have a claim to it; undefined without one. */
export function olderClaimantOf(component: Component, deps: ClaimDeps): Component | undefined {
  return olderDuplicateOf(component, claimantsOf(component, deps));
}

/** The components of the same kind that have a claim to the cluster of a component, without those that may not use it and never did. */
export function* claimantsOf(
  component: Component,
  { components, ...permissions }: ClaimDeps,
): Generator<Component> {
  for (const other of components.of(targetId(component))) {
    if (other.kind !== component.kind) continue;
    if (wasTakenUp(other) || claimRefusal(other, permissions) === undefined) yield other;
  }
}
