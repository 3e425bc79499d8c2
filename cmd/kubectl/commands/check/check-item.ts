import type { ClusterProfileRef, Component } from "../../../../api/component.ts";
import { describe } from "../../../../api/kubernetes.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import type { Report } from "../../output/report.ts";
import type { Hop, HopState } from "../diagnose/hops/hop.ts";

/** One thing that was looked at. */
export interface CheckItem {
  /** Never changes its meaning. */
  readonly check: string;
  /** What it was looked at of: `hub`, a component, or null for a cluster. */
  readonly subject: string | null;
  /** The ClusterProfile of the cluster; null for what is not about one. */
  readonly cluster: ClusterProfileRef | null;
  readonly state: HopState;
  /** A KNF number, or the reason that a condition would have; null when nothing is wrong, or no code says it. */
  readonly code: string | null;
  readonly message: string;
  readonly next: readonly string[];
}

interface CheckSummary {
  readonly ok: number;
  readonly warnings: number;
  readonly errors: number;
  readonly skipped: number;
  readonly clusters: number;
}

export type CheckReport = Report<"Check", CheckSummary, CheckItem>;

type Optional = "code" | "next" | "cluster" | "subject";

/** An item; what is left out is empty. */
export function checkItem(
  item: Omit<CheckItem, Optional> & Partial<Pick<CheckItem, Optional>>,
): CheckItem {
  return { subject: null, cluster: null, code: null, next: [], ...item };
}

/** `Kind namespace/name` of a component. */
export function titleOf({ kind, metadata: { namespace, name } }: Component): string {
  return describe({ kind, namespace, name });
}

/** A step of a walk as an item. */
export function itemOfHop(
  { title, state, code, message, findings }: Hop,
  place: Pick<CheckItem, "subject" | "cluster">,
): CheckItem {
  const next = findings.flatMap((finding) => finding.next);
  return { check: title, ...place, state, code, message, next };
}

/** Flags of `check` alone. */
export interface CheckFlags extends RenderingFlags {
  readonly filename?: readonly string[];
  readonly warnWithin?: string;
  readonly failOn?: string;
  readonly execTimeout?: string;
}
