import type { ClusterProfile } from "../api/cluster-profile.ts";
import type { Component, ComponentKey } from "../api/component.ts";
import type { FleetSet, FleetSetStatus, StageSpec } from "../api/fleet-set.ts";
import type { Answers, Verification } from "./check-answer.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { DesiredSpec, RevisionContent } from "./desired-spec.ts";
import type { History, Standing } from "./standing.ts";
import type { RecordEntry } from "./status/record-entry.ts";

/** A ControllerRevision of a set. */
export interface Revision {
  readonly name: string;
  /** Each new rollout gets a higher number; the revision with the highest one is rolled out. */
  readonly number: number;
  /** Number of the revision when it last passed all stages; absent: never. */
  readonly completedNumber?: number;
  /** True when a rollback gave up the revision. It is not tried again until a user asks for it. */
  readonly failed: boolean;
  /** When a user asked to try the revision again, RFC 3339. */
  readonly retriedAt?: string;
  /** The record of the revision, the oldest entry first; absent: empty. */
  readonly record?: readonly RecordEntry[];
  readonly content: RevisionContent;
}

/** A ClusterProfile that the set selects. */
export interface SelectedCluster {
  readonly namespace: string;
  readonly name: string;
  /** Decision group of the Placement that chose it. */
  readonly group?: string;
}

/** The selection of a set. An error or a missing Placement is `unusable`, never an empty selection (R11). */
export type Selection =
  | { readonly kind: "clusters"; readonly clusters: readonly SelectedCluster[] }
  | { readonly kind: "unusable"; readonly reason: string; readonly message: string };

export interface Obstacle {
  readonly reason: string;
  readonly message: string;
}

/** The facts on which a decision depends, besides the time. */
export interface SetFacts {
  readonly set: FleetSet;
  readonly revisions: readonly Revision[];
  readonly selection: Selection;
  /** ClusterProfiles by `namespace/name`. */
  readonly profiles: ReadonlyMap<string, ClusterProfile>;
  /** The components that carry the labels of the set. */
  readonly children: readonly Component[];
  /** By `namespace/name`: why the set may not change a cluster, because of another set, another component or a refusal of the hub. */
  readonly obstacles: ReadonlyMap<string, Obstacle>;
  /** By `namespace/name`: why the last write for a cluster failed on the hub and may succeed later. */
  readonly unwritten?: ReadonlyMap<string, string>;
  /** By `namespace/name`: the obstacle before a cluster begins, because of `rollout.after`. */
  readonly waits?: ReadonlyMap<string, string>;
  /** The versions of the release folder, the newest first. Absent: not known, and `version` of the set is taken as it is written. */
  readonly available?: readonly string[];
  /** Digest of the present rendering of the set. Absent: not known, and nothing begins because of it. */
  readonly digest?: string;
  /** Absent: the first decision of this process about the set. */
  readonly history?: History;
  /** What clusters answered to the checks of the set. Absent: nobody asks them, and none is verified. */
  readonly answers?: Answers;
}

/** A selected cluster in its stage. */
export interface Member {
  /** `namespace/name` of the ClusterProfile. */
  readonly key: string;
  readonly profile: ClusterProfile | undefined;
  readonly child: Component | undefined;
  /** Its desired spec with the revision by which it is judged; empty without a ClusterProfile. */
  readonly desired: DesiredSpec;
  /** Its state by that revision. */
  readonly state: ClusterState;
  /** What was known about it before the decision; absent: it has no component. */
  readonly standing?: Standing | undefined;
  /** What is to be asked about it; absent: nothing. */
  readonly verification?: Verification;
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
  /** The existing component, if any. */
  readonly child: Component | undefined;
}

/** A mark on a ControllerRevision. It is written before any component is stamped. */
export type RevisionMark = { readonly entries?: readonly RecordEntry[] } & (
  | {
      readonly kind: "begin";
      readonly name: string;
      readonly number: number;
      readonly content: RevisionContent;
    }
  /** A revision of an earlier knfleet gets its digest. */
  | { readonly kind: "digest"; readonly name: string; readonly digest: string }
  | { readonly kind: "complete"; readonly name: string; readonly number: number }
  | { readonly kind: "fail" | "retry"; readonly name: string }
);

/** The writes to make now: either a mark, or stamps and removals. */
export interface Decision {
  readonly status: FleetSetStatus;
  readonly mark?: RevisionMark;
  /** Entries for the record of a revision, written before everything else. */
  readonly records?: Records;
  readonly stamps: readonly Stamp[];
  readonly removals: Removals;
  /** True when the annotation that accepts a selection is no longer needed. */
  readonly dropsAcceptance?: boolean;
  /** When to decide again even if nothing has changed, in ms since the epoch. */
  readonly nextDecisionAt: number | undefined;
  /** The memory for the next decision. Absent: unchanged. */
  readonly history?: History;
  /** What is to be asked until the next decision; empty: nothing. */
  readonly verifications?: readonly Verification[];
}

/** Entries for the record of a revision. Once they are written, the deeds are removed from the set. */
export interface Records {
  readonly name: string;
  readonly entries: readonly RecordEntry[];
}

/** Writes to components of clusters that are not selected, and of a deleted set. */
export interface Removals {
  /** Get the mark with the time, because their cluster is no longer selected. */
  readonly markUnselected: readonly ComponentKey[];
  /** Lose that mark, because their cluster is selected again. */
  readonly unmark: readonly ComponentKey[];
  /** Lose the labels and annotations of the set, and stay. */
  readonly orphan: readonly ComponentKey[];
  readonly remove: readonly ComponentKey[];
}

export const noRemovals: Removals = { markUnselected: [], unmark: [], orphan: [], remove: [] };
