import type { Component } from "../../../api/component.ts";
import { timestampOf } from "../../../api/conditions.ts";
import type { FleetError } from "../../../api/errors.ts";
import { componentId, targetId } from "../../../api/keys.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { clientVersion } from "../client-version.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { failureOf, failureReason } from "../failure.ts";
import { unreadBecause } from "../spokes/spoke-reading.ts";
import { knfOf } from "./knf-of.ts";
import type { LiveReason } from "./own-reasons.ts";

/** One failure in a JSON or YAML document. */
export interface ReportError {
  /** A reason or code of docs/reasons.md, or of docs/cli/output.md. */
  readonly reason: LiveReason;
  readonly message: string;
  /** `namespace/name` of the ClusterProfile. Null when the error is not about one spoke. */
  readonly cluster: string | null;
  /** The number, where it does not follow from reason and cluster. */
  readonly code?: KnfCode | null;
}

/** An error about one installation. */
export function installationError(
  component: Component,
  { reason, message }: Pick<ReportError, "reason" | "message">,
): ReportError {
  const cluster = targetId(component);
  return {
    reason,
    message: `${componentId(component)}: ${message}`,
    cluster: cluster === "" ? null : cluster,
  };
}

/** The error about an installation that cannot be rendered. */
export function renderError(
  component: Component,
  { code, reason, sentence }: FleetError,
): ReportError {
  return installationError(component, { reason: code ?? reason, message: sentence });
}

/** An error as it is printed: with the number of its reason, or null without one. */
export function codedError(error: ReportError): ReportError & { readonly code: KnfCode | null } {
  const { reason, message, cluster } = error;
  const code =
    error.code === undefined ? knfOf(reason, { isHub: cluster === null, message }) : error.code;
  return { reason, code, message, cluster };
}

/** The envelope of every JSON or YAML document of `kubectl knfleet`. Within v1, fields are only added. */
export interface ReportDocument<Kind extends string, Summary, Item> {
  readonly apiVersion: typeof reportApiVersion;
  readonly kind: Kind;
  /** RFC 3339, UTC. */
  readonly generatedAt: string;
  readonly cliVersion: string;
  /** False when something could not be read; see `errors`. */
  readonly complete: boolean;
  readonly summary: Summary;
  readonly items: readonly Item[];
  readonly errors: readonly ReportError[];
}

export const reportApiVersion = "knfleet.dev/v1";

/** Time and version of a document. */
export type ReportStamp = Pick<
  ReportDocument<string, unknown, unknown>,
  "generatedAt" | "cliVersion"
>;

/** The stamp of a document of now, by default of this version. */
export function stampAt(now: Date, cliVersion = clientVersion): ReportStamp {
  return { generatedAt: timestampOf(now), cliVersion };
}

/** Wraps the items of a command in a document. */
export function reportOf<Kind extends string, Summary, Item>(
  kind: Kind,
  { generatedAt, cliVersion }: ReportStamp,
  found: Pick<ReportDocument<Kind, Summary, Item>, "complete" | "summary" | "items" | "errors">,
): ReportDocument<Kind, Summary, Item> {
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

/** A document as it is printed: with the numbers of its errors. */
export function withCodes<Document extends { readonly errors?: readonly ReportError[] }>(
  document: Document,
): Document {
  const { errors } = document;
  return errors === undefined ? document : { ...document, errors: errors.map(codedError) };
}

/** An error for each named installation that does not exist. */
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
}: Pick<ReportDocument<string, unknown, unknown>, "errors" | "complete">): ExitCode {
  const isMissing = errors.some(({ reason }) => ["NotFound", "NotServed"].includes(reason));
  if (isMissing) return exitCodes.unhealthy;
  return complete ? exitCodes.fine : exitCodes.incomplete;
}

const maxRemembered = 1_000;

/** Reports the failures of a long-running command, each once as long as it lasts. */
export class Troubles {
  readonly #onTrouble: (error: ReportError) => void;
  readonly #told = new Map<string, string | null>();

  constructor(onTrouble: (error: ReportError) => void) {
    this.#onTrouble = onTrouble;
  }

  report(error: ReportError): void {
    const { cluster, reason, message } = error;
    const key = JSON.stringify([cluster, reason, message]);
    if (this.#told.has(key)) return;
    this.#told.set(key, cluster);
    // The oldest entry is forgotten first.
    const [oldest] = this.#told.keys();
    if (this.#told.size > maxRemembered && oldest !== undefined) this.#told.delete(oldest);
    this.#onTrouble(error);
  }

  /** Forgets the failures of a cluster that answers again, so that the next one is reported. */
  clear(cluster: string | null): void {
    for (const [key, of] of this.#told) if (of === cluster) this.#told.delete(key);
  }
}

/** The error for a failed read from a cluster, or from the hub (null). Never throws: a long-running command reports bugs, too. */
export function troubleOf(error: unknown, cluster: string | null, timeoutMs: number): ReportError {
  if (cluster !== null) {
    try {
      const { reason, message } = unreadBecause(error, timeoutMs);
      return { reason, message, cluster };
    } catch {
      // A bug is reported below.
    }
  }
  return { reason: failureReason(error), message: failureOf(error).error, cluster };
}
