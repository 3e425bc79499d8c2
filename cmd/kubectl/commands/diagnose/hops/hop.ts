import { knfCodes, type KnfCode } from "../../../../../api/knf/knf-codes.ts";

/** How one step of the walk went. `SKIPPED`: an earlier one is in the way, a right is missing, or nobody wanted it. */
export type HopState = "OK" | "WARN" | "FAIL" | "SKIPPED";

/** One thing that is wrong, or looks so. */
export interface Finding {
  readonly severity: "warning" | "error";
  readonly code: KnfCode;
  /** A sentence without full stop that names the object; may quote foreign text. */
  readonly message: string;
  /** What was seen, a line each. */
  readonly evidence: readonly string[];
  /** What to do, in order: commands to paste, without the flags that name the hub, or sentences. */
  readonly next: readonly string[];
}

/** What a step found out. Without `value` those that need it are skipped. */
export interface HopResult<Value> {
  readonly value: Value | undefined;
  /** What is the case, in a few words. */
  readonly message: string;
  readonly evidence?: readonly string[];
  readonly findings?: readonly Finding[];
  /** It could not be looked at, which stands in nobody's way; the message says why. */
  readonly isUnseen?: boolean;
}

/** One step of the walk, as it is printed. */
export interface Hop {
  /** Never changes its meaning. */
  readonly id: HopId;
  readonly title: string;
  readonly state: HopState;
  /** Code of the first finding of the worst kind; null when there is none. */
  readonly code: KnfCode | null;
  readonly message: string;
  readonly evidence: readonly string[];
  readonly findings: readonly Finding[];
  /** The step that is in the way of this one. */
  readonly because: HopId | null;
  /** How long it took; null when it was skipped. */
  readonly durationMs: number | null;
}

/** Every step in the order of the walk, with its title. */
export const hopTitles = {
  hub: "hub",
  kinds: "CRDs",
  controller: "controller",
  webhook: "webhook",
  component: "component",
  deletion: "deletion",
  twin: "one per cluster",
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
  anchor: "anchor",
  guard: "guard",
  objects: "objects",
  deployments: "Deployments",
  pods: "pods",
  conditions: "conditions",
} as const;

export type HopId = keyof typeof hopTitles;

/** A finding; what is left out comes from the catalogue. */
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

/** A step that ends the way for those that need it. */
export function failed(
  code: KnfCode,
  message: string,
  more: Partial<Pick<Finding, "evidence" | "next">> = {},
): HopResult<never> {
  return { value: undefined, message, findings: [finding("error", code, { message, ...more })] };
}

/** A step of which all is well. */
export function passed<Value>(
  value: Value,
  message: string,
  evidence: readonly string[] = [],
): HopResult<Value> {
  return { value, message, evidence };
}

/** A step that could not be looked at and that nobody needs. */
export function unseen(message: string): HopResult<true> {
  return { value: true, message, isUnseen: true };
}

/** A step that gives its value in spite of what was found. */
export function passedWith<Value>(
  value: Value,
  message: string,
  { findings, evidence = [] }: Pick<HopResult<Value>, "findings" | "evidence">,
): HopResult<Value> {
  return { value, message, evidence, findings: findings ?? [] };
}
