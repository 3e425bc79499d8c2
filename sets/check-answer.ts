import type { VerifySpec } from "../api/fleet-set.ts";

/** What a set asks about one cluster. Ms since the epoch. */
export interface Verification {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster: string;
  /** Names the stamp that it is about. */
  readonly stamp: string;
  /** When the cluster got the revision. Earlier failures do not count. */
  readonly since: number;
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

/** What a cluster answers to one question. */
export type Reply = Pick<CheckAnswer, "kind" | "message">;
