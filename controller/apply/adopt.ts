import { isOutdatedPatch } from "../../access/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube-client.ts";
import { componentUidLabel } from "../../api/anchor.ts";
import { identityOf, keyOf, type KubeObject } from "../../api/kubernetes.ts";
import type { EngineRequests } from "./apply-requests.ts";
import type { InventoryEntry } from "./inventory.ts";
import { type Desired, outlives } from "./prepare.ts";
import { adoptionPatch } from "./take-over.ts";

export interface AdoptDeps {
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly fieldManager: string;
  readonly componentUid: string;
  readonly desired: Desired;
  /** Of the apply that follows. */
  readonly requests: Pick<EngineRequests, "adopt">;
}

/** Objects of upstream's that are not wanted any more; what outlives an installation stays, as when we upgrade. */
export function obsoleteAmong(
  found: readonly KubeObject[],
  { objects }: Desired,
): readonly KubeObject[] {
  const wanted = new Set(objects.map(({ id }) => id));
  return found.filter((object) => !outlives(object) && !wanted.has(identityOf(keyOf(object))));
}

/** How an inventory names objects that were never sent. */
export function entriesOf(objects: readonly KubeObject[]): readonly InventoryEntry[] {
  return objects.map((object) => ({ ...keyOf(object), hash: "" }));
}

/**
 * Makes what upstream's operator wrote ours, without a change to what it says: fields that the next apply leaves out can be
 * removed by it, and what is obsolete carries our label, by which it is found and pruned. One patch an object, two when it was
 * changed in between.
 */
export async function adopt(
  found: readonly KubeObject[],
  deps: AdoptDeps,
  signal: AbortSignal,
): Promise<void> {
  const wanted = new Map(deps.desired.objects.map((object) => [object.id, object]));
  const obsolete = new Set(obsoleteAmong(found, deps.desired));
  await Promise.all(
    found.map(async (live) => {
      const object = wanted.get(identityOf(keyOf(live)));
      if (object !== undefined) await deps.requests.adopt(object, live, signal);
      else if (obsolete.has(live)) await labelled(live, deps, signal);
    }),
  );
}

const maxAttempts = 5;

async function labelled(found: KubeObject, deps: AdoptDeps, signal: AbortSignal): Promise<void> {
  const { client, fieldManager, componentUid, desired } = deps;
  const { namespace, name } = found.metadata;
  const resource = { ...desired.resourceOf(found), namespaced: namespace !== undefined };
  const ref: ObjectRef = { resource, name, ...(namespace === undefined ? {} : { namespace }) };
  let live: KubeObject | undefined = found;
  for (let attempt = 1; live?.metadata.uid === found.metadata.uid; attempt += 1) {
    const patch = [
      ...(adoptionPatch(live, { manager: fieldManager, isScaled: false }) ?? []),
      {
        op: "add",
        path: `/metadata/labels/${componentUidLabel.replace("/", "~1")}`,
        value: componentUid,
      },
    ];
    try {
      await client.patch(ref, patch, { fieldManager, metadataOnly: true }, signal);
      return;
    } catch (error) {
      if (!isOutdatedPatch(error) || attempt === maxAttempts) throw error;
    }
    live = await client.get(ref, { metadataOnly: true }, signal);
  }
}
