import { type Component, componentKeyOf } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { type Condition, describe } from "../../api/kubernetes.ts";
import { hasFinalizer } from "./finalizer.ts";

/** The cluster that a component is for, as a text; the empty string is the hub. Also the queue's lane. */
export function targetIdOf({ spec }: Component): string {
  const ref = spec?.clusterProfileRef;
  return ref === undefined ? "" : `${ref.namespace}/${ref.name}`;
}

/**
 * The component of the same kind and cluster that was there before. Where there is one, the younger touches nothing on the
 * cluster, also when it is deleted. Creation times have whole seconds; within one, the component that was taken up already
 * comes before one that was not, and that before one that was refused, so that nobody loses a cluster that it has; then the uid decides.
 * A latecomer is younger than all others.
 */
export function olderTwinOf(component: Component, all: Iterable<Component>): Component | undefined {
  const target = targetIdOf(component);
  let oldest = component;
  for (const other of all) {
    if (other.kind !== component.kind || targetIdOf(other) !== target) continue;
    if (ageOf(other) < ageOf(oldest)) oldest = other;
  }
  return oldest.metadata.uid === component.metadata.uid ? undefined : oldest;
}

/** Throws FleetError `DuplicateComponent` when another component has the cluster already. */
export function assertOnlyOne(component: Component, all: Iterable<Component>): void {
  const twin = olderTwinOf(component, all);
  if (twin === undefined) return;
  throw new FleetError(
    "DuplicateComponent",
    `${describe(componentKeyOf(twin))} is installed on the same cluster already`,
  );
}

/**
 * Whether something may have been done for a component on the cluster that it names. The finalizer alone does not say so, with which anybody can
 * create one; only we write the status.
 */
export function wasTakenUp(component: Component): boolean {
  const { conditions = [] } = component.status ?? {};
  const { status, reason } = conditions.find(({ type }) => type === "InstallSucceeded") ?? {};
  const isRefused = reason === "DuplicateComponent";
  const isTold = status === "True" || (reason !== undefined && !isRefused);
  return hasFinalizer(component) && isTold;
}

/**
 * Whether a component was refused before anything was done for it: meanwhile others may have got the cluster that it names. One that waits for
 * its cluster keeps its turn.
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
