import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import type { Log } from "../log.ts";
import type { SharedWatches } from "../target/shared-watches.ts";

/**
 * A change on the target.
 * `object`: an object of the installation changed or went. `apply`: somebody applied it with our field manager.
 * `labels`: a Namespace got more labels or annotations, as many clusters add them to each new Namespace.
 * `workload`: the readiness of a workload may have changed. `job`: a Job may have failed.
 * `watch`: a kind cannot be watched any more, or can be watched again.
 */
export type ObservedChange =
  | { readonly kind: "object" | "apply" | "labels"; readonly key: ObjectKey }
  | { readonly kind: "workload" | "job"; readonly key: ObjectKey }
  | { readonly kind: "watch"; readonly resource: ResourceType };

/**
 * Live view of one installation on its cluster. One watch a kind selects the objects by the label with the component's uid. Watches transfer
 * metadata only, except for Deployments, StatefulSets and DaemonSets. Objects without the label, such as the anchor, have a watch by name each.
 */
export interface Observation extends AsyncDisposable {
  /** Watches exactly these kinds: opens missing watches and closes the others. Retries a kind that was not served (404). Throws an AbortError after the disposal. */
  watchKinds(resources: readonly ResourceType[]): void;
  /** Watches exactly these objects by name. A Namespace is compared by labels and annotations, others by all metadata. Throws as `watchKinds` does. */
  watchSingles(singles: readonly ObjectRef[]): void;
  /** Takes in a single object as it was read or written, also before `watchSingles`. */
  noteSingle(object: KubeObject): void;
  /** A single object is gone, or differs from its noted state, or its watch has failed for some seconds. */
  isDisturbed(): boolean;
  /** A single object with this uid is gone, whether or not another object has its name. */
  isLost(object: { readonly key: ObjectKey; readonly uid: string }): boolean;
  /**
   * Resolves when the first list of every watched kind that is served and may be watched has arrived. Rejects with the connection's error, or
   * when the observation is disposed.
   */
  waitForSync(signal: AbortSignal): Promise<void>;
  /**
   * Takes in the answers to our own writes. The next plan then does not use older records, and a later watch event of the same write is no change.
   * An event that overtakes its answer is a change. Ignores records of kinds that are not watched.
   */
  note(objects: readonly ObservedObject[]): void;
  /** Watched kinds of which `objects()` is complete: their list was read, or they are not served, and their watch has not failed since. */
  live(): readonly ResourceType[];
  /** Watched kinds of which `objects()` may be incomplete: their list has not arrived, or their watch fails. */
  pending(): readonly ResourceType[];
  /** Watched kinds whose list is overdue by some seconds, by `kindIdOf`: their records may be out of date. */
  behind(): ReadonlySet<string>;
  /** Kinds that may not be watched, by `kindIdOf`, each with the reason as a sentence of ours. */
  refused(): ReadonlyMap<string, string>;
  /** Records by `identityOf(key)`. */
  objects(): ReadonlyMap<string, ObservedObject>;
  /** Identities of Jobs that were deleted before they had finished, and that do not exist again. */
  cutShort(): ReadonlySet<string>;
  /**
   * Workloads (Deployment, StatefulSet, DaemonSet) by `identityOf(key)`, as last seen, with the fields of workload-part.ts only. A later write of ours
   * that was noted raises the generation, so that the last status does not count for it.
   */
  workloads(): ReadonlyMap<string, KubeObject>;
}

export interface ObserveOptions {
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly clock: Clock;
  /** The watches of kinds, which other observations over the same client share. */
  readonly watches: SharedWatches;
  readonly componentUid: string;
  /** Called for each change, from inside the watch. It must be quick and must not throw. */
  readonly onChange: (change: ObservedChange) => void;
  /** Whether a new object with our label is a stray, which is reported as a change. Absent: no object is. */
  readonly isUnwanted?: (key: ObjectKey) => boolean;
  readonly log: Log;
}
