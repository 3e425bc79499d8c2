import type { ClusterProfileRef } from "../../../../api/component.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import type { FailOn } from "../../main/command-flags.ts";
import type { ReportDocument } from "../../output/report.ts";
import type { Hop, HopState } from "../hops/hop.ts";

/** One check of one subject. */
export interface CheckItem {
  /** Part of the JSON document: a name keeps its meaning. */
  readonly check: string;
  /** The checked subject: `hub`, a component, or null for a cluster. */
  readonly subject: string | null;
  /** The ClusterProfile of the cluster; null for a check that is not about a cluster. */
  readonly cluster: ClusterProfileRef | null;
  readonly state: HopState;
  /** A KNF number, or the reason that a condition would have; null when nothing is wrong, or when no code exists for the problem. */
  readonly code: string | null;
  readonly message: string;
  readonly next: readonly string[];
  /** When the credential or certificate of the check `expiry` ends, RFC 3339. */
  readonly endsAt?: string;
}

interface CheckSummary {
  readonly ok: number;
  readonly warnings: number;
  readonly errors: number;
  readonly skipped: number;
  readonly clusters: number;
}

export type CheckReport = ReportDocument<"Check", CheckSummary, CheckItem>;

type Optional = "code" | "next" | "cluster" | "subject" | "endsAt";

/** An item; fields that are left out are empty. */
export function checkItem(
  item: Omit<CheckItem, Optional> & Partial<Pick<CheckItem, Optional>>,
): CheckItem {
  return { subject: null, cluster: null, code: null, next: [], ...item };
}

/** A check of the hub for which a right is missing, in the words of `missingRightIn`. */
export function unseenItem(check: string, right: string): CheckItem {
  const message = `not looked at: ${right} is missing`;
  return checkItem({ check, subject: "hub", state: "SKIPPED", message });
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
  /** Files with components. Empty: the whole fleet is checked. */
  readonly filename: readonly string[];
  readonly warnWithin: string | undefined;
  readonly failOn: FailOn | undefined;
  readonly execTimeout: string | undefined;
}
