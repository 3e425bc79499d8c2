import type { KubeObject, Manifest } from "../../../../api/kubernetes.ts";
import { othersIn, readContents } from "./namespace-contents.ts";
import { limitOf, refOf, type Target } from "./write-object.ts";

/**
 * Deletes what a failed registration has made, the newest object first, and returns what stays: an object whose answer was lost, that somebody has changed since, or a
 * namespace in which there is something else by now. Never rejects: the failure of the registration is what the user is told.
 */
export async function takeBack(
  made: readonly Manifest[],
  target: Target,
): Promise<readonly Manifest[]> {
  const stays: Manifest[] = [];
  const gone: Manifest[] = [];
  for (const manifest of made.toReversed()) {
    // oxlint-disable-next-line no-await-in-loop -- what is in a namespace goes before it
    const isGone = await remove(manifest, gone, target).catch(() => false);
    if (isGone) gone.push(manifest);
    else stays.unshift(manifest);
  }
  return stays;
}

async function remove(
  manifest: Manifest,
  gone: readonly Manifest[],
  target: Target,
): Promise<boolean> {
  const { uid, resourceVersion, name = "" } = manifest.metadata;
  if (uid === undefined || resourceVersion === undefined) return false;
  if (manifest.kind !== "Namespace") {
    await target.client.remove(refOf(manifest), { uid, resourceVersion }, limitOf(target));
    return true;
  }
  const { objects, unread } = othersIn(await readContents(name, target), gone.filter(isStored));
  if (objects.length > 0 || unread.length > 0) return false;
  await target.client.remove(refOf(manifest), { uid }, limitOf(target));
  return true;
}

function isStored(manifest: Manifest): manifest is KubeObject {
  return manifest.metadata.uid !== undefined;
}
