import type { Component } from "../../api/component.ts";
import { askedDelivery, type Delivery, managedClusterOf } from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { targetId } from "../../api/keys.ts";
import { hasFinalizer } from "../component-identity.ts";
import { claimRefusal } from "../reconcile/claims.ts";
import { managedClusterRef } from "./find-works.ts";
import { getFrom } from "./hub-works.ts";
import { managedClusterFor } from "./managed-cluster.ts";
import type { PullDeps } from "./pull-deps.ts";

/** The reasons of a ClusterProfile that offers no way in which the provider file serves. */
const unserved: readonly string[] = ["AccessProviderNotConfigured", "MulticlusterDisabled"];

/** `HandBack`: it is pulled and is to be pushed from now on. */
type Way = Delivery | "HandBack";

/**
 * How a component comes to its cluster. One that is pulled is so until its annotation says Push. Before that, its annotation decides, and without one the mode: with `Auto` a cluster that cannot be
 * dialled, but is managed by Open Cluster Management, pulls. Spec: pull.md 7.
 */
export async function deliveryOf(
  component: Component,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<Way> {
  const asked = askedDelivery(component);
  if (managedClusterOf(component) !== undefined) return asked === "Push" ? "HandBack" : "Pull";
  // What is removed without a record was pushed.
  if (asked === "Push" || component.metadata.deletionTimestamp !== undefined) return "Push";
  if (asked === "Pull") return targetId(component) === "" ? "Push" : "Pull";
  // Without permission the component must learn nothing about its cluster.
  const isBound = hasFinalizer(component) || claimRefusal(component, deps) !== undefined;
  if (deps.pull?.mode !== "Auto" || isBound) return "Push";
  return (await canOnlyPull(component, deps, signal)) ? "Pull" : "Push";
}

/** Whether no provider serves the cluster of a component, and Open Cluster Management manages it. */
async function canOnlyPull(
  { spec }: Component,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = spec?.clusterProfileRef;
  if (ref === undefined) return false;
  try {
    await deps.spokes.acquire(ref, signal);
    return false;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    if (!unserved.includes(error.reason)) return false;
  }
  try {
    const cluster = await managedClusterFor(ref, deps, signal);
    const found = await getFrom(deps.hub, signal)(managedClusterRef(cluster));
    return found !== undefined;
  } catch (error) {
    // Without a ManagedCluster the push side says what is missing.
    if (error instanceof FleetError) return false;
    throw error;
  }
}
