import type { FleetSetSpec, RolloutPhase, StageSpec } from "../../../api/fleet-set.ts";
import type { Selection } from "../../../sets/facts.ts";

/** Fields of a stage besides its name and its selector. */
export type StageFields = Omit<StageSpec, "name" | "selector">;

type Rollout = NonNullable<FleetSetSpec["rollout"]>;

/**
 * What a cluster of a case has, in one word. `old` is the revision that was completed last (1.22.0), `new` the one that is rolled out (1.23.0); the times are
 * before the time of the case.
 */
export type ClusterWord =
  /** No component. */
  | "none"
  /** Ready at the old revision, since an hour. */
  | "old"
  /** As `old`, and the component is being deleted. */
  | "leaving"
  /** As `old`, but at 1.20.0. */
  | "far"
  /** As `old`, and the ClusterProfile says that its control plane is not healthy. */
  | "dark"
  /** As `old`, and the component cannot reach its cluster since ten minutes. */
  | "lost"
  /** Ready at the new revision, stamped and ready ten minutes ago. */
  | "done"
  /** Stamped with the new revision five minutes ago; not ready yet. */
  | "updating"
  /** Stamped ten seconds ago; its status is still about the spec before. */
  | "stamped"
  /** Stamped ten seconds ago without a change of its spec; ready since an hour. */
  | "kept"
  /** Stamped five minutes ago, ready since ten seconds. */
  | "settling"
  /** Stamped 20 minutes ago, never ready. */
  | "late"
  /** As `late`, but what it says has changed ten seconds ago. */
  | "late-anew"
  /** Stamped 20 minutes ago; its cluster came back five minutes ago. */
  | "back"
  /** Stamped five minutes ago; its Kubernetes is too old for the version. */
  | "failed"
  /** Stamped five minutes ago; its cluster went dark since then. */
  | "darkened"
  /** As `failed`, and the ClusterProfile says that its control plane is not healthy. */
  | "failed-dark"
  /** Stamped five minutes ago; another component has its cluster. */
  | "taken"
  /** As `done`, but somebody else has changed its version. */
  | "edited"
  /** As `late`, and somebody else has changed its version. */
  | "spoiled"
  /** As `done`, but a minor further than the revision says. */
  | "ahead"
  /** As `done`, with a revision that was never completed. */
  | "other"
  /** As `updating`, but with a revision that was given up in the middle. */
  | "hanging"
  /** As `updating`, but stamped with another value of its ClusterProfile. */
  | "drifting"
  /** Not ready, and written by somebody else: it is to be taken over. */
  | "foreign"
  /** Stamped with the old revision five minutes ago; not ready yet. */
  | "returning"
  /** As `late`, but with the old revision. */
  | "returned-late"
  /** As `done`, but stamped with another value of its ClusterProfile. */
  | "drifted";

/** What the status remembers of a stage: its state, and how long ago its last cluster was done or how many clusters it had at its start. */
export type StageWord = string;

/** A row of the table: what is given, and what is to be decided. */
export interface Case {
  /** The fact that the row shows. */
  readonly name: string;
  /** Clusters `<ring>-<number>` with the label `ring`, as words separated by spaces. */
  readonly clusters: Readonly<Record<string, string>>;
  /** Fields of the stages by their names, in order; each selects the clusters of its ring. Default: `canary` one at a time, `rest` two at a time. */
  readonly stages?: Readonly<Record<string, StageFields>>;
  /** Other fields of `spec.rollout`; the order is `Name` unless they say otherwise. */
  readonly rollout?: Partial<Rollout>;
  readonly spec?: Partial<FleetSetSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Time of day on 2026-11-25, UTC, or a whole time; default 12:00:00. */
  readonly at?: string;
  /** What the status says of the stages in this rollout; absent: the status was never written. */
  readonly before?: Readonly<Record<string, StageWord>>;
  readonly phase?: RolloutPhase;
  readonly resumedAt?: string;
  /** What became of the new revision so far; default: it is being rolled out after an old one that is complete. */
  readonly revision?: "first" | "completed" | "failed" | "retried" | "unrecorded" | "again";
  /** Labels of ClusterProfiles besides `ring`. */
  readonly labels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Clusters that are not selected any more, and how many minutes ago their component was marked; undefined: it is not. */
  readonly unselected?: Readonly<Record<string, number | undefined>>;
  /** Clusters of the selection that were marked as unselected. */
  readonly marked?: readonly string[];
  readonly selection?: Selection;
  /** Reasons for which the set may not have a cluster. */
  readonly obstacles?: Readonly<Record<string, string>>;
  readonly deleting?: boolean;
  readonly expect: Partial<Outcome>;
}

/** A decision in words; a row names those that it is about. */
export interface Outcome {
  /** Clusters in the order of their stamps; `@old` for the revision that was completed last. */
  readonly stamps: string;
  /** Kind of the mark, and for a beginning its number. */
  readonly mark: string;
  readonly phase: string;
  readonly stage: string;
  readonly waitingFor: string;
  /** Time of day of the next look, or the whole time when it is on another day. */
  readonly nextDecisionAt: string;
  /** Numbers of clusters by state, without those that are 0. */
  readonly clusters: string;
  /** The stages with their states. */
  readonly stages: string;
  /** Clusters that need somebody's eyes: name, state, reason. */
  readonly notable: string;
  readonly removals: string;
  /** Conditions: type, status, reason. */
  readonly conditions: string;
}

/** The time at which a row is decided, in ms since the epoch. */
export function timeOfCase({ at = "12:00:00" }: Pick<Case, "at">): number {
  return Date.parse(at.includes("T") ? at : `2026-11-25T${at}Z`);
}
