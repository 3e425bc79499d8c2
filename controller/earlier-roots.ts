import { ApiError } from "../access/api-error.ts";
import { listedObjects } from "../access/kube-answer.ts";
import type { KubeClient } from "../access/kube-client.ts";
import { collectionPath } from "../access/kube-path.ts";
import { anchorLabels, managedByValue } from "../api/anchor.ts";
import type { KubeObject } from "../api/kubernetes.ts";
import { knownResource } from "../api/resources.ts";

const resource = knownResource("v1", "ConfigMap");
const ref = { resource, labelSelector: `${anchorLabels.managedBy}=${managedByValue}` };

type Asked = Pick<KubeClient, "request" | "list">;

/** Everything on a cluster that is labelled as a root; undefined where nobody may ask. */
export async function labelledRoots(
  client: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  return (await orNothing(client.list(ref, {}, signal)))?.items;
}

/**
 * What was labelled as a root before one that was just made: of two that are made at the same time exactly one has the other here,
 * because the server puts its writes in an order. A root that was written again since, or a server that has forgotten so
 * old a state, tells only the second in which each was made, and what was made in the same one counts as earlier.
 */
export async function rootsBefore(
  { uid, resourceVersion }: Pick<KubeObject["metadata"], "uid" | "resourceVersion">,
  client: Asked,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const then = await stateBefore(resourceVersion, client, signal);
  if (then?.every(({ metadata }) => metadata.uid !== uid) === true) return then;
  const now = (await labelledRoots(client, signal)) ?? [];
  const own = now.find(({ metadata }) => metadata.uid === uid);
  const bornAt = own?.metadata.creationTimestamp ?? "";
  return now.filter(
    ({ metadata }) => metadata.uid !== uid && (metadata.creationTimestamp ?? "") <= bornAt,
  );
}

/** As it was just before a version; undefined where the server does not tell. */
async function stateBefore(
  version: string,
  client: Asked,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  if (!/^[1-9]\d*$/.test(version)) return undefined;
  const resourceVersion = String(BigInt(version) - 1n);
  const path = collectionPath(ref, { resourceVersion, resourceVersionMatch: "Exact" });
  const answer = await orNothing(client.request("GET", path, undefined, signal));
  return answer === undefined ? undefined : listedObjects(answer, resource).items;
}

async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    // A question that is refused keeps nobody from work that may be allowed.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
