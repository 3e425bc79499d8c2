import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { kindId, objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../../api/kubernetes.ts";
import type { ResourceType } from "../../../api/resources.ts";
import { componentUidLabel, definitionLabel } from "../../../installation/anchor.ts";
import { outlives } from "../../../installation/desired.ts";
import { mapLimited } from "../spokes/read-clusters.ts";

/** The live objects of some keys, as metadata. */
export interface Observed {
  /** By identity: the requested objects, and further objects with the label of the installation. */
  readonly objects: ReadonlyMap<string, KubeObject>;
  /** Objects without the right to read them, each with the message of the server. */
  readonly denied: ReadonlyMap<string, string>;
}

/** An object and its resource type. */
export interface LocatedObject {
  readonly key: ObjectKey;
  readonly resource: ResourceType;
}

const atOnce = 8;

/** Reads objects with one list for each kind, and one request for each object that the list lacks. */
export async function observeObjects(
  located: readonly LocatedObject[],
  { client, uid }: { readonly client: KubeClient; readonly uid: string },
  signal: AbortSignal,
): Promise<Observed> {
  const kinds = [...Map.groupBy(located, ({ resource }) => kindId(resource)).values()];
  const parts = await mapLimited(kinds, atOnce, (ofKind) =>
    observeKind(ofKind, { client, uid }, signal),
  );
  return {
    objects: new Map(parts.flatMap(({ objects }) => [...objects])),
    denied: new Map(parts.flatMap(({ denied }) => [...denied])),
  };
}

async function observeKind(
  located: readonly LocatedObject[],
  { client, uid }: { readonly client: KubeClient; readonly uid: string },
  signal: AbortSignal,
): Promise<Observed> {
  const [first] = located;
  const objects = new Map<string, KubeObject>();
  const denied = new Map<string, string>();
  if (first === undefined) return { objects, denied };
  const { resource } = first;
  const { apiVersion, kind } = resource;
  const labelSelector = outlives(resource)
    ? `${definitionLabel}=true`
    : `${componentUidLabel}=${uid}`;
  try {
    const list = await client.list({ resource, labelSelector }, { metadataOnly: true }, signal);
    for (const item of list.items) {
      // Items of a list carry neither apiVersion nor kind.
      const object = { ...item, apiVersion, kind };
      objects.set(objectId(keyOf(object)), object);
    }
    await mapLimited(located, atOnce, async ({ key }) => {
      const id = objectId(key);
      if (objects.has(id)) return;
      const found = await client.get({ ...key, resource }, { metadataOnly: true }, signal);
      if (found !== undefined) objects.set(id, { ...found, apiVersion, kind });
    });
  } catch (error) {
    if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
    // A kind that is not served has no objects.
    if (error.status === 403) {
      for (const { key } of located) denied.set(objectId(key), error.message);
    }
  }
  return { objects, denied };
}
