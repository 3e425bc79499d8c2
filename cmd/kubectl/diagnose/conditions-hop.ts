import type { Component } from "../../../api/component.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { knfOfCondition } from "./explain-error.ts";
import { finding, passed, passedWith, type Finding, type HopResult } from "./hop.ts";

/** Conditions in the order of the work: the first that is not true is the cause of the others. */
const order = [
  "TargetClusterResolved",
  "VersionMigrationEligible",
  "InstallSucceeded",
  "DependenciesInstalled",
  "DeploymentsAvailable",
];
const progress = ["Connecting", "Installing", "Finalizing"];

/** What the controller says, which may be older than what the walk saw. */
export function checkConditions({ status }: Component): HopResult<true> {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined) return passed(true, "there are none");
  const text = `Ready=${ready.status} ${ready.reason ?? ""}`.trim();
  if (ready.status === "True") return passed(true, text);
  const cause = order
    .flatMap((type) => conditions.find((one) => one.type === type) ?? [])
    .find((one) => one.status !== "True");
  return passedWith(true, text, { findings: [findingOf(cause ?? ready)] });
}

function findingOf(condition: Condition): Finding {
  const { type, status, reason = "", message = "", lastTransitionTime } = condition;
  const code = codeOf(condition);
  const isUnderWay = progress.includes(reason) || (status === "Unknown" && code === "KNF1018");
  return finding(isUnderWay ? "warning" : "error", isUnderWay ? "KNF6008" : code, {
    message: `${type}=${status} ${reason}: ${message}`,
    evidence: [`since ${lastTransitionTime ?? "(not known)"}`],
  });
}

function codeOf({ type, reason = "", message = "" }: Condition): KnfCode {
  if (type === "VersionMigrationEligible") return "KNF1015";
  if (type === "DeploymentsAvailable") return knfOfCondition(reason, message) ?? "KNF6009";
  if (message.startsWith("the manifests of the target version ")) return "KNF1016";
  if (/^(?:Manifest |spec\.)/.test(message)) return "KNF1017";
  return knfOfCondition(reason, message) ?? "KNF1018";
}
