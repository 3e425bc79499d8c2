import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { targetIdOf } from "../reconcile/duplicate.ts";

/** The spoke that a component was for that is gone, or is for another one now, when none of the others is for it. */
export function leftSpokeOf(
  before: Component,
  all: Iterable<Component>,
): ClusterProfileRef | undefined {
  const id = targetIdOf(before);
  for (const other of all) if (targetIdOf(other) === id) return undefined;
  return before.spec?.clusterProfileRef;
}
