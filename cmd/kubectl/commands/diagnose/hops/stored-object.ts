import { ApiError } from "../../../../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../../../../access/kube/kube-client.ts";
import { getProfile, ServedProfiles } from "../../../../../access/kube/profile-versions.ts";
import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../../../../api/component.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { ifDenied } from "../../../if-denied.ts";

/**
 * An object, undefined when it does not exist. Who may list and not get, as the controller some kinds, finds it in a list. Throws as the
 * client does.
 */
export async function storedObject(
  { resource, namespace, name }: ObjectRef,
  client: KubeClient,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await client.get({ resource, namespace, name }, {}, signal);
  } catch (error) {
    return foundIn({ resource, namespace, name }, { client, error }, signal);
  }
}

/** The same for a ClusterProfile in whichever version the hub serves. */
export async function storedProfile(
  ref: ClusterProfileRef,
  client: KubeClient,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await getProfile(client, ref, signal);
  } catch (error) {
    const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
    return foundIn({ resource, ...ref }, { client: new ServedProfiles(client), error }, signal);
  }
}

async function foundIn(
  { resource, namespace, name }: ObjectRef,
  { client, error }: { readonly client: Pick<KubeClient, "list">; readonly error: unknown },
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (!(error instanceof ApiError) || error.status !== 403) throw error;
  const fieldSelector = `metadata.name=${name}`;
  const found = await client
    .list({ resource, namespace, fieldSelector }, {}, signal)
    .catch(ifDenied);
  if (found === undefined) throw error;
  const { apiVersion, kind } = resource;
  const [object] = found.items;
  // Items of a list carry neither apiVersion nor kind.
  return object === undefined ? undefined : { ...object, apiVersion, kind };
}
