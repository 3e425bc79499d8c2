import { ApiError } from "../../../../access/kube/api-error.ts";
import { type KubeClient, objectRefOf } from "../../../../access/kube/kube-client.ts";
import { objectId, versionedKindId } from "../../../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../../../api/kubernetes.ts";
import { resourceFinder, type ResourceType } from "../../../../api/resources.ts";
import { servedKinds } from "../../../../controller/apply/served-kinds.ts";
import { componentUidLabel } from "../../../../installation/anchor.ts";
import { type InventoryEntry, mayBeGone } from "../../../../installation/inventory.ts";
import { foreignKindFinder } from "../../../../installation/kinds.ts";
import { fingerprintOf } from "../../../../installation/managed-fields.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";

/** How the objects of an installation differ from its inventory. */
export interface Drift {
  readonly checked: number;
  /** Objects of kinds that may not be read. */
  readonly unread: number;
  /** Missing objects, without Jobs that Kubernetes removed after they had finished. */
  readonly missing: readonly ObjectKey[];
  /** Objects with conflicts, and the field managers that took our fields. */
  readonly changed: readonly { readonly key: ObjectKey; readonly managers: readonly string[] }[];
}

const finder = resourceFinder([]);
const isForeign = foreignKindFinder([]);

/**
 * Compares an inventory with the live objects: one list request for each kind, and one request for each object that is not in the list. Reads metadata
 * only.
 */
export async function readDrift(
  entries: readonly InventoryEntry[],
  { client, uid }: { readonly client: KubeClient; readonly uid: string },
  signal: AbortSignal,
): Promise<Drift> {
  const kinds = [
    ...Map.groupBy(entries, ({ apiVersion, kind }) => `${apiVersion}|${kind}`).values(),
  ];
  const drifts = await mapLimited(kinds, 4, (ofKind) =>
    readDriftOfKind(ofKind, { client, uid }, signal),
  );
  return {
    checked: drifts.reduce((sum, { checked }) => sum + checked, 0),
    unread: drifts.reduce((sum, { unread }) => sum + unread, 0),
    missing: drifts.flatMap(({ missing }) => missing),
    changed: drifts.flatMap(({ changed }) => changed),
  };
}

async function readDriftOfKind(
  entries: readonly InventoryEntry[],
  { client, uid }: { readonly client: KubeClient; readonly uid: string },
  signal: AbortSignal,
): Promise<Drift> {
  const [first] = entries;
  if (first === undefined) return { checked: 0, unread: 0, missing: [], changed: [] };
  try {
    const resource = await findResource(first, client, signal);
    const labelSelector = `${componentUidLabel}=${uid}`;
    const { items } = await client.list(
      { resource, labelSelector },
      { metadataOnly: true },
      signal,
    );
    const { apiVersion, kind } = first;
    const listed = new Map(
      items.map((item) => [objectId(keyOf({ ...item, apiVersion, kind })), item]),
    );
    const live = await mapLimited(entries, 4, async (entry) => {
      const ref = objectRefOf(entry, resource);
      return listed.get(objectId(entry)) ?? client.get(ref, { metadataOnly: true }, signal);
    });
    return {
      checked: entries.length,
      unread: 0,
      missing: missingObjects(entries.filter((_, at) => live[at] === undefined)),
      changed: entries.flatMap((entry, at) => changeSinceApply(entry, live[at]) ?? []),
    };
  } catch (error) {
    if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
    if (error.status === 403)
      return { checked: 0, unread: entries.length, missing: [], changed: [] };
    return { checked: 0, unread: 0, missing: missingObjects(entries), changed: [] };
  }
}

async function findResource(
  entry: InventoryEntry,
  client: KubeClient,
  signal: AbortSignal,
): Promise<ResourceType> {
  const guess = finder(entry);
  if (!isForeign(entry)) return guess;
  const served = await servedKinds(client, [entry], signal);
  return served.get(versionedKindId(entry)) ?? guess;
}

function missingObjects(absent: readonly InventoryEntry[]): readonly ObjectKey[] {
  return absent.filter((entry) => !mayBeGone(entry)).map(objectKey);
}

function objectKey({ apiVersion, kind, namespace, name }: InventoryEntry): ObjectKey {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** The change of an object since knfleet applied it: its field manager `knfleet-…` no longer owns the fields of the fingerprint. */
function changeSinceApply(
  entry: InventoryEntry,
  live: KubeObject | undefined,
): { readonly key: ObjectKey; readonly managers: readonly string[] } | undefined {
  if (live === undefined || entry.fingerprint === undefined) return undefined;
  const managers = (live.metadata.managedFields ?? []).flatMap(({ manager, subresource }) =>
    manager === undefined || subresource === "status" ? [] : [manager],
  );
  const ours = managers.filter((manager) => manager.startsWith("knfleet-"));
  const isAsSent = ours.some((manager) => fingerprintOf(live, manager) === entry.fingerprint);
  if (isAsSent) return undefined;
  const others = managers.filter((manager) => !ours.includes(manager));
  return { key: objectKey(entry), managers: [...new Set(others)] };
}
