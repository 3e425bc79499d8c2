import type { KubeClient } from "../../access/kube-client.ts";
import { getProfile } from "../../access/profile-versions.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { describe, type KubeObject } from "../../api/kubernetes.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { mapLimited } from "./concurrency.ts";
import { ownReasons } from "./own-reasons.ts";
import { readSpokeFacts, type SpokeFacts } from "./spoke-facts.ts";
import { unreadBecause, type SpokeReading } from "./spoke-reading.ts";

/** Limits of a command that reads many clusters. */
export interface ReadLimits {
  /** Clusters read at the same time. */
  readonly concurrency: number;
  /** Time for one cluster, from reading its profile to its last answer. */
  readonly spokeTimeoutMs: number;
  /** Called whenever a cluster is done. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Readings by `clusterIdOf` of the components. */
export type Readings = ReadonlyMap<string, SpokeReading>;

/** Identity of the cluster that a component is installed on: `namespace/name` of its profile, empty for the hub. */
export function clusterIdOf(component: Component): string {
  const ref = component.spec?.clusterProfileRef;
  return ref === undefined ? "" : `${ref.namespace}/${ref.name}`;
}

/**
 * Reads every cluster that the components are installed on, once each. A cluster that cannot be read becomes an unread
 * reading and never delays or fails another; after an abort the clusters that are not done are unread, too.
 */
export async function readClusters(
  components: readonly Component[],
  deps: { readonly access: ClusterAccess; readonly limits: ReadLimits },
  signal: AbortSignal,
): Promise<Readings> {
  const { access, limits } = deps;
  const targets = new Map(
    components.map((component) => [clusterIdOf(component), component.spec?.clusterProfileRef]),
  );
  let done = 0;
  const readings = await mapLimited([...targets], limits.concurrency, async ([id, ref]) => {
    const reading = await readCluster(ref, { access, timeoutMs: limits.spokeTimeoutMs }, signal);
    done += 1;
    limits.onProgress?.(done, targets.size);
    return [id, reading] as const;
  });
  return new Map(readings);
}

interface ClusterDeps {
  readonly access: ClusterAccess;
  readonly timeoutMs: number;
}

async function readCluster(
  ref: ClusterProfileRef | undefined,
  { access, timeoutMs }: ClusterDeps,
  signal: AbortSignal,
): Promise<SpokeReading> {
  if (ref !== undefined && access.reach === undefined) return noProviderFile;
  if (signal.aborted) return stopped;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const facts =
      ref === undefined
        ? readSpokeFacts(access.hub, null, deadline)
        : readSpoke(ref, access, deadline);
    // The end of a connection may take longer than the spoke's time; nobody waits for it here.
    return { kind: "read", facts: await Promise.race([facts, rejectedBy(deadline)]) };
  } catch (error) {
    return readingAfter(error, { signal, deadline, timeoutMs });
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}

function readingAfter(
  error: unknown,
  context: {
    readonly signal: AbortSignal;
    readonly deadline: AbortSignal;
    readonly timeoutMs: number;
  },
): SpokeReading {
  const { signal, deadline, timeoutMs } = context;
  if (signal.aborted) return stopped;
  // Whatever an aborted request throws, the cause is that the spoke's time was over.
  return unreadBecause(deadline.aborted ? deadline.reason : error, timeoutMs);
}

async function readSpoke(
  ref: ClusterProfileRef,
  { hub, reach }: ClusterAccess,
  signal: AbortSignal,
): Promise<SpokeFacts> {
  const profile = await readProfile(ref, hub, signal);
  if (reach === undefined) throw new Error("Unreachable: checked by the caller");
  await using spoke = await reach(profile, signal);
  return await readSpokeFacts(spoke.client, spoke.provider, signal);
}

async function readProfile(
  ref: ClusterProfileRef,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<ClusterProfile> {
  const title = describe({ kind: "ClusterProfile", ...ref });
  const found = await getProfile(hub, ref, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new FleetError("ClusterProfileUnavailable", `${title} could not be read`, { cause });
  });
  if (found === undefined)
    throw new FleetError("ClusterProfileNotFound", `${title} does not exist`);
  if (!isProfile(found))
    throw new FleetError("ClusterProfileUnavailable", `${title} is no ClusterProfile`);
  return found;
}

function isProfile(object: KubeObject): object is ClusterProfile {
  return object.kind === "ClusterProfile" && object.metadata.namespace !== undefined;
}

const noProviderFile: SpokeReading = {
  kind: "unread",
  state: "Unknown",
  reason: "NoProviderFile",
  message: ownReasons.NoProviderFile,
};

const stopped: SpokeReading = {
  kind: "unread",
  state: "Unknown",
  reason: "Interrupted",
  message: ownReasons.Interrupted,
};
