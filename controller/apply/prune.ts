import { ApiError } from "../../access/api-error.ts";
import type { KubeClient } from "../../access/kube-client.ts";
import { identityOf, type ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { isWebhookConfiguration } from "../finalize-plan.ts";
import { missingRightIn } from "../missing-right.ts";
import type { ObservedObject } from "../observe/observation.ts";
import type { Trouble } from "./change-set.ts";
import type { InventoryEntry } from "./inventory.ts";

export interface PruneDeps {
  readonly client: Pick<KubeClient, "remove">;
  readonly resourceOf: (object: Pick<ObjectKey, "apiVersion" | "kind">) => ResourceType;
  readonly observed: ReadonlyMap<string, ObservedObject>;
}

/** Obsolete objects that need no more thought, and those that could not be deleted. */
export interface Pruned {
  readonly pruned: readonly ObjectKey[];
  readonly failed: readonly Trouble[];
}

/**
 * Deletes obsolete objects, and only those that were seen with our label: what somebody else has made of a name since is left alone. Webhook
 * configurations go first: whoever answered for them goes next, and without an answer they refuse what they cover. Spec: engine-facts.md 9.
 */
export async function prune(
  obsolete: readonly InventoryEntry[],
  deps: PruneDeps,
  signal: AbortSignal,
): Promise<Pruned> {
  const present = obsolete.flatMap((entry) => {
    const record = deps.observed.get(identityOf(entry));
    return record === undefined ? [] : [record];
  });
  const first = present.filter(({ key }) => isWebhookConfiguration(key));
  const results: (Trouble | undefined)[] = [];
  for (const group of [first, present.filter((record) => !first.includes(record))]) {
    results.push(...(await Promise.all(group.map((record) => removed(record, deps, signal)))));
  }
  const failed = results.filter((result) => result !== undefined);
  const stuck = new Set(failed.map(({ key }) => identityOf(key)));
  return {
    pruned: present.map(({ key }) => key).filter((key) => !stuck.has(identityOf(key))),
    failed,
  };
}

async function removed(
  { key, uid, deleting }: ObservedObject,
  { client, resourceOf }: PruneDeps,
  signal: AbortSignal,
): Promise<Trouble | undefined> {
  if (deleting) return undefined;
  const { namespace, name } = key;
  const resource = { ...resourceOf(key), namespaced: namespace !== undefined };
  const ref = namespace === undefined ? { resource, name } : { resource, namespace, name };
  try {
    await client.remove(ref, { propagationPolicy: "Background", uid }, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Another uid: created again by somebody else since it was seen.
    if (error.status === 409) return undefined;
    const right = missingRightIn(error.message);
    const lack = right === undefined ? "" : `: the controller lacks ${right}`;
    const message = `Obsolete, but its deletion is refused with status ${error.status}${lack}`;
    return { key, message };
  }
}
