import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { ClusterProfileRef } from "../../../api/component.ts";
import { readProfile } from "../hub/profiles.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { noProviderFile, UnreadError } from "./spoke-reading.ts";

/** A cluster that a command stays connected to. */
export interface LastingSpoke {
  readonly client: KubeClient;
  /** Not waited for: the end of a connection to a server that is silent takes seconds. */
  readonly close: () => void;
}

/** Connects to the cluster of a ClusterProfile, or to the hub when there is none. Throws FleetError, and what KubeClient throws. */
export async function openLastingSpoke(
  ref: ClusterProfileRef | undefined,
  { hub, spokes }: Pick<ClusterAccess, "hub" | "spokes">,
  signal: AbortSignal,
): Promise<LastingSpoke> {
  if (ref === undefined) return { client: hub, close: () => undefined };
  const { reach, missing } = await spokes();
  signal.throwIfAborted();
  if (reach === undefined) throw new UnreadError(noProviderFile(missing));
  const spoke = await reach(await readProfile(ref, hub, signal), signal);
  return {
    client: spoke.client,
    close: () => void spoke[Symbol.asyncDispose]().then(undefined, () => undefined),
  };
}
