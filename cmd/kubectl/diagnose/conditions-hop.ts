import type { Component } from "../../../api/component.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { blockingCondition, conditionCode, isUnderWay } from "../condition-code.ts";
import { finding, passed, passedWith, type Finding, type HopResult } from "./hop.ts";

/** What the controller says, which may be older than what the walk saw. */
export function checkConditions({ status }: Component): HopResult<true> {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined) return passed(true, "there are none");
  const text = `Ready=${ready.status} ${ready.reason ?? ""}`.trim();
  const blocking = blockingCondition(conditions);
  if (blocking === undefined) return passed(true, text);
  return passedWith(true, text, { findings: [findingOf(blocking)] });
}

function findingOf(condition: Condition): Finding {
  const { type, status, reason = "", message = "", lastTransitionTime } = condition;
  return finding(
    isUnderWay(condition) ? "warning" : "error",
    conditionCode(condition) ?? "KNF1018",
    {
      message: `${type}=${status} ${reason}: ${message}`,
      evidence: [`since ${lastTransitionTime ?? "(not known)"}`],
    },
  );
}
