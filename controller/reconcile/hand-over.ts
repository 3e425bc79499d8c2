import { ApiError } from "../../access/kube/api-error.ts";
import { obstacleIn } from "../../access/kube/obstacle.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { letsGo } from "../../api/sentences.ts";
import { letGoManifest } from "../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import type { Desired } from "../../installation/desired.ts";
import { predecessorOf } from "../../installation/predecessor.ts";
import { succeed } from "../apply/adoption/succession.ts";
import { anchorRef } from "../apply/anchor/anchor.ts";
import type { ChangeSet } from "../apply/change-set.ts";
import type { InstallDeps, InstallInput } from "../apply/install-attempt.ts";
import { install } from "../apply/install.ts";
import { removePolicies } from "../guard/policy-objects.ts";
import type { Log } from "../log.ts";
import type { Target } from "../target/target.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { fieldManagerOf, resolveTarget, stopManaging } from "./resolve.ts";

/** What an install needs that may begin with taking an installation over. */
export interface TakeOverDeps extends InstallDeps {
  /** Called with the number of objects. */
  readonly onTakenOver: (objects: number) => void;
}

/** Installs; where the controller of the hub or of the spoke has managed the installation so far, takes it over first. See `install` and `takeOverInstallation`. */
export async function installOrTakeOver(
  request: InstallInput,
  deps: TakeOverDeps,
  signal: AbortSignal,
): Promise<ChangeSet> {
  try {
    return await install(request, deps, signal);
  } catch (error) {
    if (!(error instanceof FleetError) || error.reason !== "AnchorConflict") throw error;
    const desired = deps.preparations.of(request.rendered);
    const objects = await takeOverInstallation({ ...request, ...deps, desired }, signal);
    if (objects === undefined) throw error;
    deps.onTakenOver(objects);
    return install({ ...request, isNew: false }, deps, signal);
  }
}

interface TakeOver {
  readonly component: Component;
  readonly target: Target;
  readonly desired: Desired;
  readonly clock: Clock;
  readonly log: Log;
}

// A deleted policy is enforced for a moment longer.
const tries = 10;
const retryMs = 500;

/**
 * Takes over an installation that the controller of the hub or of the spoke has managed so far for this component. Returns how many objects, and undefined where no such
 * controller made the anchor. Throws FleetError `ClusterBusy` while that controller still works. Spec: pull.md 7.
 */
async function takeOverInstallation(
  { component, target, desired, clock, log }: TakeOver,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { client } = target;
  const anchor = await client.get(anchorRef({ component, target }), {}, signal);
  const predecessor = anchor && predecessorOf(anchor, { component, target });
  if (anchor === undefined || predecessor === undefined) return undefined;
  const { hubId, componentUid: formerUid, hasLetGo } = predecessor;
  if (!hasLetGo) {
    throw new FleetError("ClusterBusy", letsGo.controller.of());
  }
  const formerManager = fieldManagerOf(hubId);
  const succession = { component, target, desired, formerUid, formerManager, anchor };
  for (let attempt = 1; ; attempt += 1) {
    try {
      // They let nobody but the hub change its anchors. The hub makes them again where it guards another installation.
      if (target.profile === undefined) await removePolicies(client, hubId, signal);
      const objects = await succeed(succession, signal);
      log.info({ objects, from: hubId }, "Took over what another controller of knfleet installed");
      return objects;
    } catch (error) {
      const isDenied = error instanceof ApiError && obstacleIn(error) !== undefined;
      if (!isDenied || attempt === tries) throw error;
      await delay(clock, retryMs, signal);
    }
  }
}

/**
 * Ends the work of the controller of a spoke for a component that the hub is to install itself, and marks the anchor so that the hub may take the installation over.
 * Always throws: FleetError `ClusterBusy` says that the hub goes on.
 */
export async function letGo(
  subject: Subject,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<never> {
  const { component } = subject;
  const { target } = await resolveTarget(subject, deps, signal);
  await stopManaging(subject, deps);
  const owner = { component, target };
  const handedOver = new FleetError("ClusterBusy", letsGo.hub.of());
  const live = await target.client.get(anchorRef(owner), {}, signal);
  const uid = live?.metadata.annotations?.[anchorAnnotations.componentUid];
  // The hub has taken it over already.
  if (live === undefined || uid !== component.metadata.uid) throw handedOver;
  const { client, fieldManager } = target;
  const manifest = letGoManifest(live, owner);
  const metadata = { ...manifest.metadata, uid: live.metadata.uid };
  const options = { fieldManager, force: true, metadataOnly: true };
  await client.apply(anchorRef(owner), { ...manifest, metadata }, options, signal);
  throw handedOver;
}

/**
 * Whether the installation of a component that was pushed before it was pulled is still the hub's own, because no controller on the spoke has ever taken it over. Throws the
 * error of the way to the spoke: where nobody can look, nothing is proven.
 */
export async function isStillPushed(
  subject: Subject,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { component } = subject;
  const { target } = await resolveTarget(subject, deps, signal);
  const ref = anchorRef({ component, target });
  const anchor = await target.client.get(ref, { metadataOnly: true }, signal);
  return anchor?.metadata.annotations?.[anchorAnnotations.componentUid] === component.metadata.uid;
}
