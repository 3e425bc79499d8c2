import { isOutdatedPatch } from "../../../access/kube/api-error.ts";
import { type KubeClient, objectRefOf } from "../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import type { Desired } from "../../../installation/desired.ts";

interface Patching {
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly fieldManager: string;
  readonly desired: Pick<Desired, "resourceOf">;
  /** The JSON Patch for an object; undefined: nothing is to be done. */
  readonly operationsFor: (live: KubeObject) => readonly object[] | undefined;
}

const maxAttempts = 5;

/**
 * Patches an object in its present state. Reads it again when it changed meanwhile. Does nothing for an object that is gone or was replaced. Throws
 * the errors of KubeClient.
 */
export async function patchLive(
  found: KubeObject,
  { client, fieldManager, desired, operationsFor }: Patching,
  signal: AbortSignal,
): Promise<void> {
  const ref = objectRefOf(found.metadata, desired.resourceOf(found));
  let live: KubeObject | undefined = found;
  for (let attempt = 1; live?.metadata.uid === found.metadata.uid; attempt += 1) {
    const operations = operationsFor(live);
    if (operations === undefined) return;
    try {
      await client.patch(ref, operations, { fieldManager, metadataOnly: true }, signal);
      return;
    } catch (error) {
      if (!isOutdatedPatch(error) || attempt === maxAttempts) throw error;
    }
    live = await client.get(ref, { metadataOnly: true }, signal);
  }
}
