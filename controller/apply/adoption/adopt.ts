import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { type Desired, outlives } from "../../../installation/desired.ts";
import type { InventoryEntry } from "../../../installation/inventory.ts";
import type { EngineRequests } from "../apply-requests.ts";
import type { Unadopted } from "../change-set.ts";
import type { RecordedAttempt } from "../install-attempt.ts";
import { type Refused, refusedOf } from "../refusals.ts";
import { patchLive } from "./patch-live.ts";
import { adoptionPatch, isUpstreams, keptAnnotations, preconditions, setAt } from "./take-over.ts";

interface AdoptDeps {
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly fieldManager: string;
  readonly componentUid: string;
  readonly installNamespace: string;
  readonly desired: Desired;
  /** Of the apply that follows. */
  readonly requests: Pick<EngineRequests, "adopt">;
}

/** Takes over the objects of upstream's operator, and reports their number. */
export async function adoptUpstream(
  found: readonly KubeObject[],
  { component, target, desired, requests, deps }: RecordedAttempt,
  signal: AbortSignal,
): Promise<Unadopted> {
  const { client, fieldManager, namespace: installNamespace } = target;
  const componentUid = component.metadata.uid;
  const own = { client, fieldManager, installNamespace, componentUid, desired, requests };
  const unadopted = await adopt(found, own, signal);
  const objects = found.filter(isUpstreams).length - unadopted.count;
  deps.log.info({ objects }, "Took over what the upstream operator installed");
  if (objects > 0) deps.onAdopted?.(objects);
  return unadopted;
}

/** Objects of upstream's operator that are not desired. Objects that outlive an installation stay, as in our own upgrades. */
export function obsoleteAmong(
  found: readonly KubeObject[],
  { objects }: Desired,
): readonly KubeObject[] {
  const wanted = new Set(objects.map(({ id }) => id));
  return found.filter((object) => !outlives(object) && !wanted.has(objectId(keyOf(object))));
}

/** How an inventory names objects that were never sent. */
export function inventoryEntriesOf(objects: readonly KubeObject[]): readonly InventoryEntry[] {
  return objects.map((object) => ({ ...keyOf(object), hash: "" }));
}

/**
 * Makes the fields of upstream's operator ours without changing them. The next apply can then remove fields that it leaves out. Obsolete objects get
 * our label, by which they are found and pruned. One patch an object, two when it changed in between. An object that the cluster refuses does not
 * stop the others: a desired object is taken over when it is sent.
 */
async function adopt(
  found: readonly KubeObject[],
  deps: AdoptDeps,
  signal: AbortSignal,
): Promise<Unadopted> {
  const wanted = new Map(deps.desired.objects.map((object) => [object.id, object]));
  const obsolete = new Set(obsoleteAmong(found, deps.desired));
  const refusals = await allOf(
    found.map(async (live) => {
      const object = wanted.get(objectId(keyOf(live)));
      if (object !== undefined) {
        return refusalIn(live, () => deps.requests.adopt(object, live, signal), deps);
      }
      return obsolete.has(live) && refusalIn(live, () => labelObject(live, deps, signal), deps);
    }),
  );
  const refused = refusals.filter((refusal) => refusal !== false);
  const undone = refused.filter(({ live }) => obsolete.has(live));
  // A Deployment must not be sent without the notes that an adoption knows of.
  const once = found.filter((live) => obsolete.has(live) || keptAnnotations(live) !== undefined);
  const ids = new Set(once.map((live) => objectId(keyOf(live))));
  return {
    count: refused.length,
    parked: undone.filter(({ isForGood }) => !isForGood).map(({ trouble }) => trouble),
    failed: undone.filter(({ isForGood }) => isForGood).map(({ trouble }) => trouble),
    isUnfinished: (troubles) => troubles.some(({ key }) => ids.has(objectId(key))),
  };
}

/** All results. When a promise rejects: its error, after all others have settled. */
async function allOf<Result>(works: readonly Promise<Result>[]): Promise<readonly Result[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

async function refusalIn(
  live: KubeObject,
  step: () => Promise<unknown>,
  { installNamespace }: AdoptDeps,
): Promise<(Refused & { readonly live: KubeObject }) | false> {
  try {
    await step();
    return false;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { live, ...refusedOf(error, { key: keyOf(live), installNamespace }) };
  }
}

function labelObject(live: KubeObject, deps: AdoptDeps, signal: AbortSignal): Promise<void> {
  const { fieldManager: manager, componentUid } = deps;
  const label = setAt("labels", componentUidLabel, componentUid);
  const operationsFor = (now: KubeObject): readonly object[] => [
    ...(adoptionPatch(now, { manager, isScaled: false }) ?? preconditions(now)),
    label,
  ];
  return patchLive(live, { ...deps, operationsFor }, signal);
}
