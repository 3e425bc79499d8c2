import { knfCodes, type KnfCode } from "../../../../api/knf/knf-codes.ts";

/** State of one step. `SKIPPED`: an earlier step failed, a right is missing, or the step was not requested. */
export type HopState = "OK" | "WARN" | "FAIL" | "SKIPPED";

/** One problem, or a suspected one. */
export interface Finding {
  readonly severity: "warning" | "error";
  readonly code: KnfCode;
  /** A sentence without full stop that names the object; may quote foreign text. */
  readonly message: string;
  /** Evidence, one line each. */
  readonly evidence: readonly string[];
  /** Steps in order: commands to paste, without the flags of the hub, or sentences. */
  readonly next: readonly string[];
}

/** Result of a step. Without `value` the steps that need it are skipped. */
export interface HopResult<Value> {
  readonly value: Value | undefined;
  /** Result in a few words. */
  readonly message: string;
  readonly evidence?: readonly string[];
  readonly findings?: readonly Finding[];
  /** When the credential or certificate of the step ends, in ms since 1970. */
  readonly endsAtMs?: number | undefined;
  /** The step was not possible, and no other step needs it; the message says why. */
  readonly isSkipped?: boolean;
}

/** One step of the walk, as it is printed. */
export interface Hop {
  /** Part of the JSON document: an id keeps its meaning. */
  readonly id: HopId;
  readonly title: string;
  readonly state: HopState;
  /** Code of the first error, else of the first warning; null without findings. */
  readonly code: KnfCode | null;
  readonly message: string;
  readonly evidence: readonly string[];
  readonly findings: readonly Finding[];
  /** The step that blocks this one. */
  readonly because: HopId | null;
  /** Time that the step took; null for a skipped step. */
  readonly durationMs: number | null;
}

/** Every step in the order of the walk, with its title. */
export const hopTitles = {
  hub: "hub",
  kinds: "CRDs",
  controller: "controller",
  webhook: "webhook",
  set: "fleet set",
  selection: "selection",
  rollout: "rollout",
  component: "component",
  deletion: "deletion",
  twin: "one per profile",
  replica: "replica",
  work: "works",
  accepted: "ManagedCluster",
  applied: "works applied",
  feedback: "feedback",
  profile: "ClusterProfile",
  health: "health",
  file: "provider file",
  provider: "provider",
  upstream: "upstream operator",
  endpoint: "endpoint",
  plugin: "plugin",
  credential: "credential",
  dns: "DNS",
  tcp: "TCP",
  proxy: "proxy",
  tls: "TLS",
  authentication: "authentication",
  authorization: "authorization",
  version: "Kubernetes",
  rival: "one per cluster",
  anchor: "anchor",
  guard: "guard",
  objects: "objects",
  deployments: "Deployments",
  pods: "pods",
  conditions: "conditions",
  workloads: "workloads",
} as const;

export type HopId = keyof typeof hopTitles;

/** A finding; missing fields come from the catalogue. */
export function finding(
  severity: Finding["severity"],
  code: KnfCode,
  { message, evidence = [], next }: Partial<Omit<Finding, "severity" | "code">> = {},
): Finding {
  const entry = knfCodes[code];
  return {
    severity,
    code,
    message: message ?? entry.meaning.replace(/\.$/, ""),
    evidence,
    next: next === undefined || next.length === 0 ? [entry.next] : next,
  };
}

/** A failed step; the steps that need it are skipped. */
export function failed(
  code: KnfCode,
  message: string,
  more: Partial<Pick<Finding, "evidence" | "next">> = {},
): HopResult<never> {
  return failedBy(finding("error", code, { message, ...more }));
}

/** A step without a value because of one finding. */
export function failedBy(found: Finding, evidence: readonly string[] = []): HopResult<never> {
  return { value: undefined, message: found.message, evidence, findings: [found] };
}

/** A step that finds no problem. */
export function passed<Value>(
  value: Value,
  message: string,
  evidence: readonly string[] = [],
): HopResult<Value> {
  return { value, message, evidence };
}

/** A step that was not possible and that no other step needs. */
export function skipped(message: string): HopResult<true> {
  return { value: true, message, isSkipped: true };
}

/** A step with findings that still has a value. */
export function passedWith<Value>(
  value: Value,
  message: string,
  { findings, evidence = [] }: Pick<HopResult<Value>, "findings" | "evidence">,
): HopResult<Value> {
  return { value, message, evidence, findings: findings ?? [] };
}
