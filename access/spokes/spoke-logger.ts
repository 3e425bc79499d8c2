import { foreignText } from "../../api/foreign-text.ts";
import { nameId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { ConnectionError } from "../kube/api-error.ts";
import { LinePace, type Log } from "../log.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import type { Clock } from "../time/clock.ts";
import type { ResolvedAccess } from "./resolved-access.ts";
import type { SpokeState } from "./spokes.ts";

/** The log of connection changes. */
export type SpokeLog = Pick<Log, "info" | "warn" | "error">;

/** Logs the changes of the spokes, with a limited number of lines for each spoke. */
export class SpokeLogger {
  readonly #log: SpokeLog | undefined;
  readonly #pace: LinePace;
  /** Uids of the profiles whose deprecated list was logged. */
  readonly #noticed = new Set<string>();

  constructor({ clock, log }: { readonly clock: Clock; readonly log?: SpokeLog }) {
    this.#log = log;
    this.#pace = new LinePace(clock);
  }

  logProviders(file: ProviderFile): void {
    for (const warning of file.warnings) {
      this.#log?.warn({ warning }, "The provider file has a probable mistake");
    }
    for (const { name, problem } of file.providers) {
      if (problem !== undefined) {
        this.#log?.warn({ provider: name, problem }, "A provider is not usable");
      }
    }
  }

  logAccess({ profile, provider, source, skipped, warnings }: ResolvedAccess): void {
    const { uid } = profile;
    const spoke = nameId(profile);
    if (source === "credentialProviders" && !this.#noticed.has(uid)) {
      this.#noticed.add(uid);
      this.#warn(spoke, { provider }, "The profile uses the deprecated list");
    }
    for (const problem of skipped) {
      this.#warn(spoke, { provider, problem }, "A matching provider was skipped");
    }
    for (const warning of warnings) {
      this.#warn(spoke, { provider, warning }, "The access entry has a probable mistake");
    }
  }

  logState(spoke: string, state: SpokeState): void {
    if (state.kind === "connected") {
      const { provider } = state.connection;
      this.#logLine(spoke, (facts) =>
        this.#log?.info({ ...facts, provider }, "Connected to the spoke"),
      );
    } else if ("error" in state) {
      const { reason, message, cause } = state.error;
      const detail = detailOf(cause);
      const facts = { state: state.kind, reason, error: message, ...(detail && { detail }) };
      this.#warn(spoke, facts, "No connection to the spoke");
    }
  }

  /** A property, so that it can be handed on. */
  readonly logBug = (spoke: string, err: unknown): void => {
    this.#logLine(spoke, (facts) => this.#log?.error({ ...facts, err }, "A connection has a bug"));
  };

  logRelease(spoke: string): void {
    this.#logLine(spoke, (facts) =>
      this.#log?.info(facts, "Closed the unused connection to a spoke"),
    );
  }

  logSharedToken(spoke: string, others: readonly string[]): void {
    this.#warn(spoke, { others: others.slice(0, 5) }, "Spokes share a token");
  }

  /** Forgets a deleted profile. A new profile with its name has another uid. */
  forget({ metadata }: KubeObject): void {
    this.#noticed.delete(metadata.uid);
  }

  #warn(spoke: string, facts: object, message: string): void {
    this.#logLine(spoke, (first) => this.#log?.warn({ ...first, ...facts }, message));
  }

  #logLine(spoke: string, line: (facts: object) => void): void {
    const leftOut = this.#pace.admit(spoke);
    if (leftOut !== undefined) line(leftOut === 0 ? { spoke } : { spoke, leftOut });
  }
}

const longestDetail = 400;

/** What the message of a concealed failure leaves out; undefined for another failure, which says everything. */
function detailOf(cause: unknown): string | undefined {
  const error = cause instanceof ConnectionError ? cause.cause : cause;
  const isConcealed = error instanceof ConnectionError || !(cause instanceof ConnectionError);
  return isConcealed && error instanceof Error
    ? foreignText(error.message, longestDetail)
    : undefined;
}
