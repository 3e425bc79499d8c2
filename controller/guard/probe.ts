import { ApiError } from "../../access/api-error.ts";

/** How a request that a guard has to refuse was answered. */
export type ProbeAnswer =
  | { readonly kind: "accepted" }
  | { readonly kind: "error"; readonly error: unknown };

/** The rule that has to refuse a probe. */
export interface ProbeRule {
  readonly policyName: string;
  /** The text of the rule. */
  readonly message: string;
}

/** Texts of the rules that refuse probes, the same for every guard. Spec: anchor-guard.md 4, M1 and M2. */
export const probeMessages = {
  CREATE: "knfleet enforcement probe: denied as intended (CREATE)",
  DELETE: "knfleet enforcement probe: denied as intended (DELETE)",
} as const;

/**
 * Only the refusal by our own policy, with the text of the rule for probes, proves that it is enforced. `allowed`: it certainly is
 * not. Everything else, also a refusal by RBAC, by another policy, or of a namespace that does not exist, proves nothing. Spec:
 * anchor-guard.md 6.2.
 */
export function verdictOn(
  answer: ProbeAnswer,
  { policyName, message }: ProbeRule,
): "denied" | "allowed" | "unknown" {
  if (answer.kind === "accepted") return "allowed";
  const { error } = answer;
  if (!(error instanceof ApiError) || error.status !== 403) return "unknown";
  const text = error.causes[0]?.message ?? "";
  const isOurs = text.startsWith(`ValidatingAdmissionPolicy '${policyName}'`);
  return isOurs && text.endsWith(message) ? "denied" : "unknown";
}

const minDenials = 10;
/** More than twice the second in which each API server reads policies anew. */
const minLastingMs = 2_500;
const usualPaceMs = 250;
const impatientPaceMs = 100;

/** When a round of probes was sent and answered, in ms. */
export interface ProbeTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * Denials without a break, each over a new connection, for so long that every API server behind an address was asked or has read the policies.
 * Rounds may overlap and be noted in any order. Spec: anchor-guard.md 5 and 6.2.
 */
export class ProbeWindow {
  #count = 0;
  #since = 0;
  #until = 0;
  #brokenAt = -Infinity;

  get isEnforced(): boolean {
    return this.#count >= minDenials && this.#until - this.#since >= minLastingMs;
  }

  /** Nothing spoke against enforcement since the last denials began. */
  get hasBegun(): boolean {
    return this.#count > 0;
  }

  note(isDenied: boolean, { sentAt, answeredAt }: ProbeTimes): void {
    if (!isDenied) {
      this.#count = 0;
      this.#brokenAt = Math.max(this.#brokenAt, answeredAt);
      return;
    }
    // Of what was asked before the other answer came nothing is known of what happened first.
    if (sentAt < this.#brokenAt) return;
    if (this.#count === 0) this.#since = answeredAt;
    this.#count += 1;
    this.#until = Math.max(this.#until, sentAt);
  }

  /** How long after one round was sent the next one is, in ms: soon while nothing is denied, and so that the last one ends the window. */
  paceAfter(sentAt: number): number {
    if (this.#count === 0) return impatientPaceMs;
    const rest = this.#since + minLastingMs - sentAt;
    return rest > 0 ? Math.min(usualPaceMs, rest) : impatientPaceMs;
  }
}
