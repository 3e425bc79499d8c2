import type { Component } from "../api/component.ts";
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
  /** The component of the cluster, and the uid of its set: what a Job belongs to. */
  readonly component: Component;
  readonly setUid: string;
  /** When somebody asked to try the revision again, RFC 3339: what is not good by then is asked anew. Absent: nobody did. */
  readonly retriedAt?: string;
}

/** The last answer to a check, and since when it has been of its kind without a break. Ms since the epoch. */
export interface CheckAnswer {
  readonly kind: "good" | "bad" | "unasked";
  readonly since: number;
  /** When it came. */
  readonly at: number;
  /** When it was last bad; absent: never. */
  readonly badAt?: number;
  /** A sentence; empty for a good answer. It may quote what the cluster says, bounded. */
  readonly message: string;
  /** It will not change and is not asked for again, however old it gets. */
  readonly isFinal?: true;
}

/** The last answer after a reply. One that came too late for `patienceMs` goes on with nothing. */
export function answerAfter(
  before: CheckAnswer | undefined,
  { kind, message, isFinal }: Reply,
  { now, patienceMs }: { readonly now: number; readonly patienceMs: number },
): CheckAnswer {
  const badAt = kind === "bad" ? now : before?.badAt;
  const goesOn = before?.kind === kind && now < before.at + patienceMs;
  const since = goesOn ? before.since : now;
  return {
    kind,
    message,
    since,
    at: now,
    ...(badAt !== undefined && { badAt }),
    ...(isFinal === true && { isFinal }),
  };
}

/** What was answered about a cluster with a stamp. */
export interface ClusterAnswers {
  readonly stamp: string;
  /** Since when this process asks, in ms since the epoch. */
  readonly askedSince: number;
  /** By the name of the check. */
  readonly checks: ReadonlyMap<string, CheckAnswer>;
}

/** By `namespace/name` of the ClusterProfile. */
export type Answers = ReadonlyMap<string, ClusterAnswers>;

/** Workloads of a cluster by their kind. */
export type WorkloadCounts = ReadonlyMap<
  string,
  { readonly ready: number; readonly notReady: number }
>;

/** What a cluster answers to one question. */
export interface Reply extends Pick<CheckAnswer, "kind" | "message" | "isFinal"> {
  /** What was counted for the answer; absent: nothing. */
  readonly counted?: WorkloadCounts;
}
