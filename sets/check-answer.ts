import type { FleetSetKind, VerifySpec } from "../api/fleet-set.ts";

/** The cluster, the set and the revision that a check is about. */
export interface CheckSubject {
  readonly set: { readonly kind: FleetSetKind; readonly namespace: string; readonly name: string };
  readonly revision: string;
  /** Name of the stage. */
  readonly stage: string;
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster: string;
  /** When the cluster got the revision, in ms since the epoch. Earlier failures do not count. */
  readonly since: number;
}

/** What a set asks about one cluster. */
export interface Verification extends CheckSubject {
  /** Names the stamp that it is about. */
  readonly stamp: string;
  readonly spec: VerifySpec;
}

/** The last answer to a check, and since when it has been of its kind without a break. Ms since the epoch. */
export interface CheckAnswer {
  readonly kind: "good" | "bad" | "unasked";
  readonly since: number;
  /** When it was last bad; absent: never. */
  readonly badAt?: number;
  /** A sentence; empty for a good answer. It may quote what the cluster says, bounded. */
  readonly message: string;
}

/** By `namespace/name` of the ClusterProfile: the stamp, and the answers by the name of the check. */
export type Answers = ReadonlyMap<
  string,
  { readonly stamp: string; readonly checks: ReadonlyMap<string, CheckAnswer> }
>;

/** Workloads of a cluster by their kind. */
export type WorkloadCounts = ReadonlyMap<
  string,
  { readonly ready: number; readonly notReady: number }
>;

/** What a cluster answers to one question. */
export interface Reply extends Pick<CheckAnswer, "kind" | "message"> {
  /** What was counted for the answer; absent: nothing. */
  readonly counted?: WorkloadCounts;
}
