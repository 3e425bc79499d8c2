import type { ComponentKey } from "../../../../api/component.ts";
import type { FleetSetKind } from "../../../../api/fleet-set.ts";
import type { ObjectKey } from "../../../../api/kubernetes.ts";

/** Where a migration goes: from upstream's operator to knfleet, or back. */
export type Direction = "from-upstream" | "to-upstream";

/** A release of Helm. */
export interface HelmRelease {
  readonly namespace: string;
  readonly name: string;
}

/** An object to delete, and no other of its name. */
export interface LeftObject extends ObjectKey {
  readonly uid: string;
}

/** The Deployment of a controller for the components. */
export interface ControllerFact {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** Replicas of its spec. */
  readonly wanted: number;
  /** Pods that are there. */
  readonly running: number;
  readonly available: number;
  /** Version of its image or label; null: not known. */
  readonly version: string | null;
  readonly release: HelmRelease | null;
}

/** What is on the hub of one of the two operators. */
export interface OperatorFacts {
  /** At most one. */
  readonly controllers: readonly ControllerFact[];
  /** Replicas that hold a Lease now. A controller need not be a Deployment of the hub. */
  readonly holders: readonly string[];
}

/** The anchor of a component, as far as a migration asks for it. */
export interface AnchorState {
  readonly namespace: string;
  readonly name: string;
  /** Uid of the hub that wrote it; null: upstream's operator did. */
  readonly hubId: string | null;
  readonly componentUid: string | null;
  /** Whether everything was applied, and nothing of upstream's is left to adopt. */
  readonly isComplete: boolean;
  readonly isImmutable: boolean;
}

/** A component, and its installation. */
export interface ComponentState extends ComponentKey {
  readonly uid: string;
  /** As in ClusterState. */
  readonly clusterId: string;
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  /** What its status says when it is not Ready. Foreign text. */
  readonly message: string;
  /** Null: there is none, or its cluster was not read. */
  readonly anchor: AnchorState | null;
  /** The namespace of its installation; null: its cluster was not read. */
  readonly place: string | null;
}

/** A Deployment that belongs to an installation. */
export interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Hash of the template of its pods. */
  readonly template: string;
  /** Whether upstream's operator wrote it last. */
  readonly isUpstreams: boolean;
}

/** A cluster that was read. */
export interface ClusterState {
  /** `namespace/name` of its ClusterProfile; empty: the hub. */
  readonly id: string;
  readonly workloads: readonly Workload[];
  /** Policies, bindings and labels of the guard of this hub. */
  readonly guards: number;
}

/** What was so before the first change of a migration. It is kept on the hub, so that a run that was interrupted still knows it. */
export interface MigrationRecord {
  readonly direction: Direction;
  /** Uids of the components that were Ready. */
  readonly ready: readonly string[];
  /** By cluster and `namespace/name`: the marks of a Deployment (`workloadMark`). */
  readonly workloads: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A fleet set on the hub. */
export interface SetFact {
  readonly kind: FleetSetKind;
  readonly namespace: string;
  readonly name: string;
  /** Whether its components go with it. */
  readonly deletesComponents: boolean;
}

/** Everything that decides about the steps of a migration. */
export interface MigrationFacts {
  readonly direction: Direction;
  /** Uid of the hub's namespace `kube-system`. */
  readonly hubId: string;
  readonly upstream: OperatorFacts;
  readonly knfleet: OperatorFacts;
  /** CRDs of the components, with the Helm release that owns each. */
  readonly definitions: readonly { readonly name: string; readonly release: HelmRelease | null }[];
  /** What upstream's operator has on the hub, in the order of its removal: what its Helm release has made, its Deployments, and Helm's record. Never CRDs. */
  readonly left: readonly LeftObject[];
  readonly components: readonly ComponentState[];
  readonly clusters: readonly ClusterState[];
  /** Fleet sets, which upstream's operator does not know. */
  readonly sets: readonly SetFact[];
  /** Of this direction; undefined: none. */
  readonly record: MigrationRecord | undefined;
  /** The namespace where the record is, or comes. */
  readonly recordNamespace: string;
  /** What was read of the hub and does not count, in sentences. */
  readonly remarks: readonly string[];
}

/** A cluster in a sentence. */
export function clusterName(id: string): string {
  return id === "" ? "the hub" : id;
}

/** Whether an operator is at work, or can begin at any time. */
export function isAtWork({ controllers, holders }: OperatorFacts): boolean {
  return holders.length > 0 || controllers.some(({ wanted, running }) => wanted > 0 || running > 0);
}

/** Whether an operator works: a replica is available or holds a Lease. */
export function isServing({ controllers, holders }: OperatorFacts): boolean {
  return holders.length > 0 || controllers.some(({ available }) => available > 0);
}
