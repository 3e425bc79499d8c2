import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import type { Log } from "../log.ts";
import type { WatchSharing } from "./shared-watches.ts";

/**
 * What happened on the spoke: an object of the installation changed or went, a Namespace got more labels or annotations, which many a cluster gives each new one, a workload's
 * readiness may have changed or a Job may have failed, or a kind cannot be watched any more, or again.
 */
export type ObservedChange =
  | { readonly kind: "object" | "apply" | "labels"; readonly key: ObjectKey }
  | { readonly kind: "workload" | "job"; readonly key: ObjectKey }
  | { readonly kind: "watch"; readonly resource: ResourceType };

/**
 * Live view of one installation on its cluster: one watch a kind, selected by the label of the component's uid,
 * metadata-only but for Deployments, StatefulSets and DaemonSets; and one for each object without the label that it stands on.
 */
export interface Observation extends AsyncDisposable {
  /** Makes exactly these kinds watched: opens what is new, closes what is gone. A kind that is not served yet (404) is tried again. Throws an AbortError after the disposal. */
  watch(resources: readonly ResourceType[]): void;
  /** Makes exactly these objects watched by name: a Namespace for whether it exists, others for any change that was not noted. Throws as `watch` does. */
  guard(singles: readonly ObjectRef[]): void;
  /** Takes in a guarded object as it was read or written, now or before it is guarded. */
  noteGuarded(object: KubeObject): void;
  /** A guarded object is gone, or is not as it was noted, or its watch has failed for some seconds since. */
  isDisturbed(): boolean;
  /** A guarded object of this uid was seen to be gone, whether or not there is another of its name. */
  isLost(object: { readonly key: ObjectKey; readonly uid: string }): boolean;
  /**
   * Resolves when the initial list of every watched kind that is served and may be watched has arrived. Rejects with the connection's error, or
   * when the observation is disposed.
   */
  synced(signal: AbortSignal): Promise<void>;
  /**
   * Takes in what answers to our own writes showed, so that the next plan does not see older records and watch events that
   * come after the answer are no change. An event that overtakes its answer is one. Records of kinds that are not watched are left out.
   */
  note(objects: readonly ObservedObject[]): void;
  /** Watched kinds of which `objects()` tells all there is: their list was read, or they are not served, and nothing has failed since. */
  live(): readonly ResourceType[];
  /** Watched kinds of which nothing is known for sure now: their list has not arrived, or their watch fails. */
  pending(): readonly ResourceType[];
  /** Watched kinds whose list has not come for some seconds, by `kindIdOf`: what is known of them may be out of date. */
  behind(): ReadonlySet<string>;
  /** Watched kinds that may not be watched, by `kindIdOf`, each with the reason in words of ours. */
  refused(): ReadonlyMap<string, string>;
  /** Records by `identityOf(key)`. */
  objects(): ReadonlyMap<string, ObservedObject>;
  /** Identities of Jobs that were seen to be deleted before they had finished, and are not there again. */
  cutShort(): ReadonlySet<string>;
  /**
   * Workloads (Deployment, StatefulSet, DaemonSet) by `identityOf(key)`, as they were last seen, without the template of their pods and managedFields; but where a later write of ours was noted, with the
   * generation that this made, which no status that was seen is of.
   */
  workloads(): ReadonlyMap<string, KubeObject>;
}

/** What `observe` needs. */
export interface ObserveOptions {
  readonly client: Pick<KubeClient, "watch" | "list">;
  /** With whom the watches of kinds are shared; absent: with nobody. */
  readonly sharing?: WatchSharing;
  readonly componentUid: string;
  readonly fieldManager: string;
  /** Called for each change, in the middle of the watch: must be quick and must not throw. */
  readonly onChange: (change: ObservedChange) => void;
  /** Asked of an object that appears as we applied it: whether nobody wants it, so that it is to be looked at. Absent: all are wanted. */
  readonly isUnwanted?: (key: ObjectKey) => boolean;
  readonly log: Log;
}
