import { conditionOf } from "../../../api/conditions.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { ownReasonOf } from "../../../api/own-reason.ts";
import {
  contestedCondition,
  protectedCondition,
  type ProtectionReason,
  rollingOut,
  scaledToZero,
} from "../../../api/reasons.ts";
import { hasSentence, releaseMissing } from "../../../api/sentences.ts";
import { finerKnf, knfOfCode, knfOfReason } from "./knf-of.ts";

/** Conditions in the order of the steps: the first that is not true causes the others. */
const order = [
  "TargetClusterResolved",
  "VersionMigrationEligible",
  "InstallSucceeded",
  "DependenciesInstalled",
  "DeploymentsAvailable",
];
const progress = ["Connecting", "Installing", "Finalizing"];

/** The condition that keeps a component from being ready: one with the status and reason of Ready, or else the first that is not true. Undefined: it is ready. */
export function blockingCondition(conditions: readonly Condition[]): Condition | undefined {
  const ready = conditionOf(conditions, "Ready");
  if (ready === undefined || ready.status === "True") return undefined;
  const open = order
    .flatMap((type) => conditionOf(conditions, type) ?? [])
    .filter(({ status }) => status !== "True");
  // Conditions of steps that have not started are Unknown and may come before this one.
  const same = open.find(
    ({ status, reason }) =>
      status === ready.status && reason !== undefined && reason === ready.reason,
  );
  return same ?? open[0] ?? ready;
}

/** Whether a condition that is not true only says that an attempt or a rollout goes on. */
export function isUnderWay(condition: Condition): boolean {
  const { status, reason = "" } = condition;
  return (
    progress.includes(reason) ||
    (status === "False" && reason === rollingOut) ||
    (status === "Unknown" && failureCode(condition) === "KNF1018")
  );
}

/** KNF number of one of the conditions of a component. Null for a good one. */
export function conditionCode(
  condition: Condition,
  conditions: Parameters<typeof ownReasonOf>[1],
): KnfCode | null {
  const { type, status, reason = "" } = condition;
  if (type === contestedCondition) return status === "True" ? "KNF6007" : null;
  if (status === "True") return reason === scaledToZero ? "KNF6015" : null;
  if (type === protectedCondition) return knfOfProtection[reason] ?? null;
  return isUnderWay(condition)
    ? finerKnf("KNF6008", workMessage(condition))
    : failureCode({ ...condition, reason: ownReasonOf(condition, conditions) });
}

const knfOfProtection: Readonly<Partial<Record<string, KnfCode>>> = {
  NotEnforced: "KNF6005",
  BindingMissing: "KNF6005",
  PolicyForbidden: "KNF6005",
  NotSupported: "KNF6005",
  SharedIdentity: "KNF5004",
} satisfies Partial<Record<ProtectionReason, KnfCode>>;

/** Messages of the upstream operator, whose reasons do not show the cause. Spec: cli.md D1; knative-operator.md 6.4. */
const upstreamForms: readonly (readonly [RegExp, KnfCode])[] = [
  [/^cluster provider not configured/, "KNF3001"],
  [/no matching cluster accessor found/, "KNF3004"],
  [/no exec config found|unsupported ProfileSourced/, "KNF3005"],
  [/failed to unmarshal additional |duplicate name/, "KNF2008"],
  [/^failed to create remote /, "KNF2006"],
];

/** The number of a condition of the hub that is not true. */
function failureCode(condition: Condition): KnfCode {
  const { type } = condition;
  const message = workMessage(condition);
  if (type === "VersionMigrationEligible") return "KNF1015";
  const said = saidCode(condition);
  if (type === "DeploymentsAvailable") return said ?? "KNF6009";
  if (hasSentence(message, Object.values(releaseMissing))) return "KNF1016";
  if (/^(?:Manifest |spec\.)/.test(message)) return "KNF1017";
  return finerKnf(said ?? "KNF1018", message);
}

/** Message of a condition without the standard prefix of upstream. */
export function workMessage({ message = "" }: Pick<Condition, "message">): string {
  return message.replace(/^(?:Install|Removal) failed with message: /, "");
}

/** The number of the code in brackets, or else of upstream's message, or else of the reason. */
function saidCode(condition: Condition): KnfCode | undefined {
  const { reason = "" } = condition;
  const message = workMessage(condition);
  const [, word = ""] = /^\[(\w+)\] /.exec(message) ?? [];
  const [, form] = upstreamForms.find(([pattern]) => pattern.test(message)) ?? [];
  return ownCode(knfOfCode, word) ?? form ?? ownCode(knfOfReason, reason);
}

function ownCode(
  known: Readonly<Partial<Record<string, KnfCode>>>,
  word: string,
): KnfCode | undefined {
  return Object.hasOwn(known, word) ? known[word] : undefined;
}
