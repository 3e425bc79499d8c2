import type { Happening } from "./reconcile/transitions.ts";

interface Similar {
  readonly since: number;
  readonly messages: Set<string>;
}

interface Allowance {
  left: number;
  at: number;
}

const similarWithinMs = 10 * 60_000;
const maxSimilar = 10;
const burst = 25;
const refillMs = 5 * 60_000;
const maxRemembered = 4_096;

/**
 * Keeps one component from flooding the hub with Events, by the rules of client-go: more than ten messages with one reason within ten
 * minutes become one Event that is counted up, and after 25 Events a component gets one more every five minutes.
 */
export class EventCorrelator {
  readonly #similar = new Map<string, Similar>();
  readonly #allowances = new Map<string, Allowance>();

  /** What to write of a happening, or undefined when it is one too many. `now` in ms. */
  admit(uid: string, happening: Happening, now: number): Happening | undefined {
    if (!this.#isAllowed(uid, now)) return undefined;
    const { type, reason, message } = happening;
    const key = [uid, type, reason].join("|");
    const known = this.#similar.get(key);
    const isOpen = known !== undefined && now - known.since < similarWithinMs;
    const similar = isOpen ? known : { since: now, messages: new Set<string>() };
    remember(this.#similar, key, similar);
    if (similar.messages.size < maxSimilar) similar.messages.add(message);
    if (similar.messages.has(message)) return happening;
    return { ...happening, message: `(combined from similar events): ${message}` };
  }

  #isAllowed(uid: string, now: number): boolean {
    const known = this.#allowances.get(uid) ?? { left: burst, at: now };
    const refilled = Math.min(burst, known.left + (now - known.at) / refillMs);
    const isAllowed = refilled >= 1;
    remember(this.#allowances, uid, { left: isAllowed ? refilled - 1 : refilled, at: now });
    return isAllowed;
  }
}

/** Whether a message stands for many. */
export function isCombined({ message }: Happening): boolean {
  return message.startsWith("(combined from similar events): ");
}

/** Keeps what was used last. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxRemembered && oldest !== undefined) map.delete(oldest);
}
