import type { ClusterProfile } from "../api/cluster-profile.ts";
import type { Component, ComponentKey } from "../api/component.ts";
import type { FleetSet, FleetSetStatus, StageSpec } from "../api/fleet-set.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { DesiredSpec, RevisionContent } from "./desired-spec.ts";

/** A ControllerRevision of a set. */
export interface Revision {
  readonly name: string;
  /** Grows with each rollout that is begun; the highest one is rolled out. */
  readonly number: number;
  /** The number with which all stages were passed last; absent: never. */
  readonly completedNumber?: number;
  /** Whether a rollback has given it up; it is not tried again until somebody asks for it. */
  readonly failed: boolean;
  /** When somebody asked to try it again, RFC 3339. */
  readonly retriedAt?: string;
  readonly content: RevisionContent;
}

/** A ClusterProfile that the set selects. */
export interface SelectedCluster {
  readonly namespace: string;
  readonly name: string;
  /** Decision group of the Placement that chose it. */
  readonly group?: string;
}

/** What the set selects now. An error, or a Placement that is not there, is never an empty selection (R11). */
export type Selection =
  | { readonly kind: "clusters"; readonly clusters: readonly SelectedCluster[] }
  | { readonly kind: "unusable"; readonly reason: string; readonly message: string };

export interface Obstacle {
  readonly reason: string;
  readonly message: string;
}

/** All that a decision follows from, besides the time. */
export interface SetFacts {
  readonly set: FleetSet;
  readonly revisions: readonly Revision[];
  readonly selection: Selection;
  /** ClusterProfiles by `namespace/name`. */
  readonly profiles: ReadonlyMap<string, ClusterProfile>;
  /** The components that carry the labels of the set. */
  readonly children: readonly Component[];
  /** Clusters that the set may not take, by `namespace/name`: another set, another component or the hub is against it. */
  readonly obstacles: ReadonlyMap<string, Obstacle>;
  /** Why the hub did not take the last write for a cluster, though it may take it later; by `namespace/name`. */
  readonly unwritten?: ReadonlyMap<string, string>;
}

/** A selected cluster in its stage. */
export interface Member {
  /** `namespace/name` of the ClusterProfile. */
  readonly key: string;
  readonly profile: ClusterProfile | undefined;
  readonly child: Component | undefined;
  /** What the revision by which it is judged wants for it; empty without a ClusterProfile. */
  readonly desired: DesiredSpec;
  /** By that revision. */
  readonly state: ClusterState;
}

/** A stage with its clusters. */
export interface Stage {
  readonly spec: StageSpec;
  readonly members: readonly Member[];
}

/** A component to write. */
export interface Stamp {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster: string;
  readonly revision: string;
  readonly stage: string;
  readonly template: RevisionContent["template"];
  /** The template with overrides and values of the cluster. */
  readonly desired: Exclude<DesiredSpec, { readonly missing: string }>;
  /** The component that is there already. */
  readonly child: Component | undefined;
}

/** A mark on a ControllerRevision, to be written before anything is stamped. */
export type RevisionMark =
  | { readonly kind: "begin"; readonly name: string; readonly number: number }
  | { readonly kind: "complete"; readonly name: string; readonly number: number }
  | { readonly kind: "fail" | "retry"; readonly name: string };

/** What is to be done now. At most one of `mark` and the writes is given. */
export interface Decision {
  readonly status: FleetSetStatus;
  readonly mark?: RevisionMark;
  readonly stamps: readonly Stamp[];
  readonly removals: Removals;
  /** Whether the annotation that accepts a selection has served. */
  readonly dropsAcceptance?: boolean;
  /** Ms since the epoch at which to look again though nothing has changed. */
  readonly nextLook: number | undefined;
}

/** What happens to components of clusters that are not selected, or of a set that is deleted. */
export interface Removals {
  /** Are marked with the time, because their cluster is not selected any more. */
  readonly markUnselected: readonly ComponentKey[];
  /** Lose that mark: the cluster is selected again. */
  readonly unmark: readonly ComponentKey[];
  /** Lose the labels and annotations of the set, and stay. */
  readonly orphan: readonly ComponentKey[];
  readonly remove: readonly ComponentKey[];
}

export const noRemovals: Removals = { markUnselected: [], unmark: [], orphan: [], remove: [] };
