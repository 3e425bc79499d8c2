import { timestampOf } from "../../../api/conditions.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { clientVersion } from "../client-version.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { failureOf, failureReason } from "../failure.ts";
import { unreadBecause } from "../spokes/spoke-reading.ts";
import { knfOf } from "./knf-of.ts";
import type { LiveReason } from "./own-reasons.ts";

/** One failure, as every JSON and YAML document has it. */
export interface ReportError {
  /** A reason or code of docs/reasons.md, or of docs/cli.md. */
  readonly reason: LiveReason;
  readonly message: string;
  /** `namespace/name` of the ClusterProfile; null when it is not about one spoke. */
  readonly cluster: string | null;
  /** The number of the reason, where that does not follow from reason and cluster. */
  readonly code?: KnfCode | null;
}

/** An error as it is printed: every reason with its number, null where it has none. */
export function codedError(error: ReportError): ReportError & { readonly code: KnfCode | null } {
  const { reason, message, cluster } = error;
  const code =
    error.code === undefined ? knfOf(reason, { isHub: cluster === null, message }) : error.code;
  return { reason, code, message, cluster };
}

/** The envelope of every document that `kubectl knfleet` prints as JSON or YAML; within v1 fields are only added. */
export interface Report<Kind extends string, Summary, Item> {
  readonly apiVersion: typeof reportApiVersion;
  readonly kind: Kind;
  /** RFC 3339, UTC. */
  readonly generatedAt: string;
  readonly cliVersion: string;
  /** False when something could not be read; `errors` says what. */
  readonly complete: boolean;
  readonly summary: Summary;
  readonly items: readonly Item[];
  readonly errors: readonly ReportError[];
}

export const reportApiVersion = "knfleet.dev/v1";

/** When a document was made, and by which version. */
export type ReportStamp = Pick<Report<string, unknown, unknown>, "generatedAt" | "cliVersion">;

/** The stamp of a document that is made now, by this version unless another one is named. */
export function stampAt(now: Date, cliVersion = clientVersion): ReportStamp {
  return { generatedAt: timestampOf(now), cliVersion };
}

/** The document around the items of a command. */
export function reportOf<Kind extends string, Summary, Item>(
  kind: Kind,
  { generatedAt, cliVersion }: ReportStamp,
  found: Pick<Report<Kind, Summary, Item>, "complete" | "summary" | "items" | "errors">,
): Report<Kind, Summary, Item> {
  const { complete, summary, items, errors } = found;
  return {
    apiVersion: reportApiVersion,
    kind,
    generatedAt,
    cliVersion,
    complete,
    summary,
    items,
    errors,
  };
}

/** A document as it is printed: its errors with their numbers. */
export function withCodes<Document extends { readonly errors?: readonly ReportError[] }>(
  document: Document,
): Document {
  const { errors } = document;
  return errors === undefined ? document : { ...document, errors: errors.map(codedError) };
}

/** An error for each installation that was named and does not exist. */
export function notFoundErrors(names: readonly string[]): readonly ReportError[] {
  return names.map((name) => ({
    reason: "NotFound",
    message: `${name} not found`,
    cluster: null,
  }));
}

/** Exit code of a list: 1 for a name or kind that does not exist, 3 when something could not be read. */
export function listExitCode({
  errors,
  complete,
}: Pick<Report<string, unknown, unknown>, "errors" | "complete">): ExitCode {
  const isMissing = errors.some(({ reason }) => ["NotFound", "NotServed"].includes(reason));
  if (isMissing) return exitCodes.unhealthy;
  return complete ? exitCodes.fine : exitCodes.incomplete;
}

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
    // The oldest entry is forgotten first.
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
