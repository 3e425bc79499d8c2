import type { Component } from "../../../../../api/component.ts";
import { knfCodes } from "../../../../../api/knf/knf-codes.ts";
import type { Condition } from "../../../../../api/kubernetes.ts";
import {
  blockingCondition,
  conditionCode,
  isUnderWay,
  workMessage,
} from "../../status/condition-code.ts";
import { finding, passed, passedWith, type Finding, type HopResult } from "./hop.ts";

/** Asks what refuses the object that a message of the controller names; undefined when nobody says. */
export type HearRefusal = (message: string) => Promise<string | undefined>;

/** What the controller says, which may be older than what the walk saw. */
export async function checkConditions(
  { status }: Component,
  { hear, compare }: { readonly hear: HearRefusal; readonly compare: string },
): Promise<HopResult<true>> {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined) return passed(true, "there are none");
  const text = `Ready=${ready.status} ${ready.reason ?? ""}`.trim();
  const blocking = blockingCondition(conditions);
  if (blocking === undefined) return passed(true, text);
  return passedWith(true, text, { findings: [await findingOf(blocking, { hear, compare })] });
}

async function findingOf(
  condition: Condition,
  { hear, compare }: { readonly hear: HearRefusal; readonly compare: string },
): Promise<Finding> {
  const { type, status, reason = "", message = "", lastTransitionTime } = condition;
  const code = conditionCode(condition) ?? "KNF1018";
  const since = `since ${lastTransitionTime ?? "(not known)"}`;
  const text = `${type}=${status} ${reason}: ${message}`;
  const severity = isUnderWay(condition) ? "warning" : "error";
  if (code !== "KNF6012") return finding(severity, code, { message: text, evidence: [since] });
  const words = await hear(workMessage(condition));
  if (words !== undefined) {
    return finding(severity, code, { message: `${text}; it says: ${words}`, evidence: [since] });
  }
  const next = [knfCodes[code].next, compare];
  return finding(severity, code, { message: text, evidence: [since], next });
}
