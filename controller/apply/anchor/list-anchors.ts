import { listedObjects } from "../../../access/kube/api-answer.ts";
import { unlessDenied } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { collectionPath } from "../../../access/kube/kube-path.ts";
import { type Clock, delay } from "../../../access/time/clock.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { anchorLabels, managedByValue } from "../../../installation/anchor.ts";
import { isOlder } from "../../../installation/observed-object.ts";
import { unlessRefused } from "../refusals.ts";

const anchorResource = knownResource("v1", "ConfigMap");
const anchorsRef = {
  resource: anchorResource,
  labelSelector: `${anchorLabels.managedBy}=${managedByValue}`,
};

type Asked = Pick<KubeClient, "request" | "list">;

/** Metadata of an anchor right after its creation. */
type Born = Pick<KubeObject["metadata"], "uid" | "resourceVersion">;

// A server needs some milliseconds for a write. A list that is sent together with the write would be answered first.
const headStartMs = 30;

/** All ConfigMaps of a cluster that are labelled as anchors; undefined without the right to list them. Rejects with any other failure. */
export async function listAnchors(
  client: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  return (await unlessDenied(client.list(anchorsRef, {}, signal)))?.items;
}

/**
 * The anchors that existed before an anchor that is being created. The server puts its writes in an order: of two anchors that are created at the
 * same time, exactly one finds the other one here. When the anchor was written again since, or when the server has forgotten the old state, only the
 * creation times in seconds are compared. An anchor from the same second counts as earlier.
 *
 * `isFar`: asks once without waiting for the answer to the creation. That saves a round trip when the answer shows a state after the creation.
 * Rejects with the reason of `making`.
 */
export async function anchorsBefore(
  making: Promise<Born>,
  { client, clock, isFar }: { client: Asked; clock: Clock; isFar: boolean },
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const early = isFar ? listedBehind(making, { client, clock }, signal) : undefined;
  const own = await making;
  return earlierAmong((await early) ?? [], own) ?? anchorsAtCreation(own, client, signal);
}

/** The anchors that are listed while an anchor is being created; undefined when the creation ends first, or the list fails. Never rejects. */
async function listedBehind(
  making: Promise<Born>,
  { client, clock }: { readonly client: Asked; readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  try {
    const due = delay(clock, headStartMs, signal).then(() => "due");
    if ((await Promise.race([making, due])) !== "due") return undefined;
    return await listAnchors(client, signal);
  } catch {
    return undefined;
  }
}

/** Undefined for a list from before the creation of the anchor, or from after the creation or a write of another anchor. */
function earlierAmong(
  listed: readonly KubeObject[],
  { uid, resourceVersion }: Born,
): readonly KubeObject[] | undefined {
  const others = listed.filter(({ metadata }) => metadata.uid !== uid);
  const isEarlier = ({ metadata }: KubeObject): boolean => isOlder(metadata, { resourceVersion });
  return others.length < listed.length && others.every(isEarlier) ? others : undefined;
}

/** `anchorsBefore`, requested after the creation. */
async function anchorsAtCreation(
  { uid, resourceVersion }: Born,
  client: Asked,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const then = await stateBefore(resourceVersion, client, signal);
  if (then?.every(({ metadata }) => metadata.uid !== uid) === true) return then;
  const now = (await listAnchors(client, signal)) ?? [];
  const own = now.find(({ metadata }) => metadata.uid === uid);
  const bornAt = own?.metadata.creationTimestamp ?? "";
  return now.filter(
    ({ metadata }) => metadata.uid !== uid && (metadata.creationTimestamp ?? "") <= bornAt,
  );
}

/** The anchors just before a resourceVersion. Undefined when the server cannot list that version. */
async function stateBefore(
  version: string,
  client: Asked,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  if (!isNumber(version)) return undefined;
  const resourceVersion = String(BigInt(version) - 1n);
  const path = collectionPath(anchorsRef, { resourceVersion, resourceVersionMatch: "Exact" });
  const ask = (): Promise<unknown> => client.request("GET", path, undefined, signal);
  // Some servers cannot list an old version. The caller then lists the current version.
  const answer = await unlessRefused(ask, undefined);
  return answer === undefined ? undefined : listedObjects(answer, anchorResource).items;
}

/** The resourceVersions of one kind are in the order of the writes. Spec: KEP-5504. */
function isNumber(version: string): boolean {
  return /^[1-9]\d*$/.test(version);
}
