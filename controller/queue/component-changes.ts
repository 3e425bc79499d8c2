import type { Component, ClusterProfileRef } from "../../api/component.ts";
import { canonicalJson } from "../../api/fields.ts";
import { identityOf } from "../../api/kubernetes.ts";
import {
  recordedNamespace,
  spokeNamespaceAnnotation,
} from "../../installation/installation-namespace.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { targetIdOf, hasFinalizer, newerOf } from "../component-identity.ts";
import type { Installation } from "../reconcile/installation.ts";
import { wordsFor } from "../reconcile/neighbours.ts";
import { orphaningOf } from "../uninstall/force-orphan.ts";

/** Whether a change asks for a look; our own writes do not. */
export function isNews(
  component: Component,
  before: Component | undefined,
  { latest, isBusy }: Installation,
): boolean {
  if (before === undefined) return true;
  if (facetsOf(component) !== facetsOf(before)) return true;
  // One that comes was brought by the very attempt that installs, which would take it for somebody who waits for its end.
  if (hasFinalizer(before) && !hasFinalizer(component)) return true;
  const recorded = recordedNamespace(before);
  if (recorded !== undefined && recorded !== recordedNamespace(component)) return true;
  // Work that is running ends with a status of its own, and a watch that lags tells later of what it said on the way.
  const isOurs = component.metadata.resourceVersion === latest?.metadata.resourceVersion;
  if (isBusy || isOurs || newerOf(latest, component) === latest) return false;
  return canonicalJson(component.status) !== canonicalJson(before.status);
}

/** Whether a change takes the sense from work that is running: the component is to go, or may go without its installation, which then stays as it is. */
export function isMootBy(component: Component, before: Component | undefined): boolean {
  if (component.metadata.deletionTimestamp === undefined) return false;
  if (before?.metadata.deletionTimestamp === undefined) return true;
  return orphaningOf(component).kind === "granted" && orphaningOf(before).kind !== "granted";
}

/** Everything of a component but its status and our finalizer that a reconcile looks at, and annotations, by which people ask for one. */
function facetsOf({ metadata }: Component): string {
  const { generation, deletionTimestamp, annotations = {} } = metadata;
  // As for the finalizer: it comes by the very attempt that installs.
  const { [spokeNamespaceAnnotation]: _, ...others } = annotations;
  return canonicalJson([generation, deletionTimestamp, others]);
}

type Named = Pick<Inventory, "entries"> | undefined;

/** What somebody had and has now; undefined: nobody knows. */
export interface Holdings {
  readonly before: Named | "all";
  readonly after: Named;
}

/**
 * Keys of the installations that have left to a holder what it has given up. Nothing on their cluster tells them: what they have left was never theirs, so that they
 * do not watch it.
 */
export function heirsOf(
  holder: Component,
  { before, after }: Holdings,
  installations: Iterable<readonly [string, Pick<Installation, "leftTo">]>,
): readonly string[] {
  if (before === undefined || after === undefined) return [];
  const words = wordsFor(holder);
  const leavers = [...installations].flatMap(([key, installation]) => {
    const ids = installation.leftTo(words);
    return ids.length === 0 ? [] : [{ key, ids }];
  });
  // Nearly always.
  if (leavers.length === 0) return [];
  const had = before === "all" ? undefined : new Set(before.entries.map(identityOf));
  const has = new Set(after.entries.map(identityOf));
  const isGivenUp = (id: string): boolean => had?.has(id) !== false && !has.has(id);
  return leavers.filter(({ ids }) => ids.some(isGivenUp)).map(({ key }) => key);
}

/** The spoke that a component was for that is gone, or is for another one now, when none of the others is for it. */
export function leftSpokeOf(
  before: Component,
  all: Iterable<Component>,
): ClusterProfileRef | undefined {
  const id = targetIdOf(before);
  for (const other of all) if (targetIdOf(other) === id) return undefined;
  return before.spec?.clusterProfileRef;
}
