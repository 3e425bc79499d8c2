import { ApiError } from "../../access/kube/api-error.ts";
import type { CollectionRef } from "../../access/kube/kube-client.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { kindIdOf } from "../observe/sighting.ts";
import { builtInReleaseKinds, customReleaseKinds } from "../uninstall/finalize-kinds.ts";
import type { Desired } from "./prepare.ts";
import type { Target } from "./target.ts";

/**
 * Everything on a cluster that a label selects, as metadata, with one list a kind: of the kinds of what is desired, and of those of which an
 * older release or another choice of parts may have left something.
 */
export async function selectedObjects(
  labelSelector: string,
  { target, desired }: { readonly target: Target; readonly desired: Desired },
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const lists = kindsOf(desired).map((resource) =>
    listed({ resource, labelSelector }, target, signal),
  );
  return (await Promise.all(lists)).flat();
}

async function listed(
  ref: CollectionRef,
  { client }: Target,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    const { items } = await client.list(ref, { metadataOnly: true }, signal);
    const { apiVersion, kind } = ref.resource;
    return items.map((item) => ({ ...item, apiVersion, kind }));
  } catch (error) {
    // A kind that is not served has no objects, and what may not be read cannot have been written with these rights either.
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return [];
    throw error;
  }
}

function kindsOf({ objects }: Desired): readonly ResourceType[] {
  const wanted = objects.map(({ resource }) => resource);
  const all = [...customReleaseKinds, ...builtInReleaseKinds, ...wanted];
  return [...new Map(all.map((resource) => [kindIdOf(resource), resource])).values()];
}
