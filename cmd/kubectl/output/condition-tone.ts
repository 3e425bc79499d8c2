import type { KnfCode } from "../../../api/knf/knf-codes.ts";

/** How a condition of a component is to be looked at. */
export type ConditionTone = "good" | "progress" | "warning" | "bad";

// Where True is the news. Without it there is nothing to see.
const tonesOfTrue: Readonly<Record<string, ConditionTone>> = {
  Contested: "bad",
  Reconciling: "progress",
  Stalled: "bad",
};

/** The tone of a condition, by its type, status and code: an installation or a rollout that moves is no alarm, and what is True with a code is not plainly so. */
export function conditionTone({
  type,
  status,
  code,
}: {
  readonly type: string;
  readonly status: string;
  readonly code: KnfCode | null;
}): ConditionTone {
  const news = tonesOfTrue[type];
  if (news !== undefined) return status === "True" ? news : "good";
  if (status === "True") return code === null ? "good" : "warning";
  if (code === "KNF6008") return "progress";
  // Protection is optional: what is installed works without it.
  return status === "Unknown" || type === "AnchorProtected" ? "warning" : "bad";
}
