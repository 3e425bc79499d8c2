import { ApiError } from "../../access/kube/api-error.ts";

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

const minRounds = 6;
/** More than twice the second in which each API server reads policies anew. */
const minLastingMs = 2_500;
const paceMs = minLastingMs / (minRounds - 1);

/** When a round of probes was sent and answered, in ms. */
export interface ProbeTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * Rounds of probes, one after the other, each over a new connection: six that were denied without a break, for so long that every API server behind an address
 * was asked or has read the policies. Spec: anchor-guard.md 5 and 6.2.
 */
export class ProbeRounds {
  #count = 0;
  #since = 0;
  #until = 0;

  get areEnough(): boolean {
    return this.#count >= minRounds && this.#until - this.#since >= minLastingMs;
  }

  /** Any other answer than the denial starts the rounds anew. */
  note(isDenied: boolean, { sentAt, answeredAt }: ProbeTimes): void {
    if (!isDenied) {
      this.#count = 0;
      return;
    }
    if (this.#count === 0) this.#since = answeredAt;
    this.#count += 1;
    this.#until = sentAt;
  }

  /** How long to wait for the next round, in ms: so that the sixth is late enough, and no seventh is needed. */
  waitMs(now: number): number {
    // A timer may call a fraction of a millisecond too early.
    return Math.max(0, Math.ceil(this.#since + this.#count * paceMs - now) + 1);
  }
}
