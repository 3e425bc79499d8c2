import { failureOf, failureReason } from "../../failure.ts";
import { unreadBecause } from "../../spokes/spoke-reading.ts";
import type { ReportError } from "./report.ts";

const mostRemembered = 1_000;

/** Troubles of a command that goes on, each told once for as long as it lasts. */
export class Troubles {
  readonly #onTrouble: (error: ReportError) => void;
  readonly #told = new Map<string, string | null>();

  constructor(onTrouble: (error: ReportError) => void) {
    this.#onTrouble = onTrouble;
  }

  tell(error: ReportError): void {
    const { cluster, reason, message } = error;
    const key = JSON.stringify([cluster, reason, message]);
    if (this.#told.has(key)) return;
    this.#told.set(key, cluster);
    // What was remembered first is forgotten first.
    const [oldest] = this.#told.keys();
    if (this.#told.size > mostRemembered && oldest !== undefined) this.#told.delete(oldest);
    this.#onTrouble(error);
  }

  /** A cluster answers again: when it fails once more, that is told. */
  over(cluster: string | null): void {
    for (const [key, of] of this.#told) if (of === cluster) this.#told.delete(key);
  }
}

/** What to tell of a failed attempt to read from a cluster, or from the hub (null). Never throws: a command that goes on tells also of bugs. */
export function troubleOf(error: unknown, cluster: string | null, timeoutMs: number): ReportError {
  if (cluster !== null) {
    try {
      const { reason, message } = unreadBecause(error, timeoutMs);
      return { reason, message, cluster };
    } catch {
      // It is told as what it is.
    }
  }
  return { reason: failureReason(error), message: failureOf(error).error, cluster };
}
