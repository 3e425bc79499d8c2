import { createHmac, randomBytes } from "node:crypto";

import { FleetError } from "../../api/errors.ts";
import type { Credential, Secret } from "../plugins/credential.ts";
import type { Clock } from "../time/clock.ts";
import type { SpokeState } from "./spokes.ts";

/** One run of a plugin or built-in reader. */
interface PluginRun {
  readonly provider: string;
  /** Code of the failure, `OK` without one. */
  readonly code: string;
  readonly durationMs: number;
}

/** The connection to one spoke, as the metrics show it. */
export interface SpokeGauge {
  readonly state: SpokeState["kind"];
  /** When the credential expires, in ms since 1970. Absent: not known, or the spoke has no accepted credential. */
  readonly expiresAtMs?: number;
}

/** Collects the numbers of the path to the spokes for the metrics. */
export class PathMetrics {
  readonly #clock: Pick<Clock, "now">;
  readonly #spokes = new Map<string, SpokeGauge>();
  readonly #credentials = new Map<string, Credential>();
  readonly #listeners = new Set<(run: PluginRun) => void>();
  /** The tokens of the spokes. */
  readonly tokens = new SharedTokens();
  #isFileValid: boolean | undefined;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Calls back after each run of a plugin. */
  onRun(listener: (run: PluginRun) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** The present spokes, by `namespace/name` of the ClusterProfile. */
  spokes(): ReadonlyMap<string, SpokeGauge> {
    return this.#spokes;
  }

  /** Whether the present provider file is valid. Undefined without a provider file. */
  isProviderFileValid(): boolean | undefined {
    return this.#isFileValid;
  }

  /** Runs and measures the work of a plugin. Rejects as the work does. Aborted work is not counted. */
  async measure<Result>(
    provider: string,
    work: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const startedAt = this.#clock.now();
    const report = (code: string): void => {
      const durationMs = this.#clock.now() - startedAt;
      for (const listener of this.#listeners) listener({ provider, code, durationMs });
    };
    try {
      const result = await work();
      report("OK");
      return result;
    } catch (error) {
      if (!signal.aborted) report(codeOf(error));
      throw error;
    }
  }

  setProviderFileValid(isValid: boolean): void {
    this.#isFileValid = isValid;
  }

  setSpokeState(spoke: string, state: SpokeState["kind"]): void {
    this.#spokes.set(spoke, { ...this.#spokes.get(spoke), state });
  }

  /** Sets the credential of a spoke. Ignores a spoke that was removed. */
  setCredential(spoke: string, credential: Credential): void {
    const known = this.#spokes.get(spoke);
    if (known === undefined) return;
    const { state } = known;
    const { expiresAtMs } = credential;
    this.#credentials.set(spoke, credential);
    this.#spokes.set(spoke, expiresAtMs === undefined ? { state } : { state, expiresAtMs });
  }

  /** Drops a credential that is not used any more, unless the spoke has a newer one. */
  dropCredential(spoke: string, credential: Credential): void {
    if (this.#credentials.get(spoke) !== credential) return;
    this.#credentials.delete(spoke);
    const known = this.#spokes.get(spoke);
    if (known !== undefined) this.#spokes.set(spoke, { state: known.state });
  }

  removeSpoke(spoke: string): void {
    this.tokens.forget(spoke);
    this.#credentials.delete(spoke);
    this.#spokes.delete(spoke);
  }
}

function codeOf(error: unknown): string {
  return error instanceof FleetError ? (error.code ?? error.reason) : "Unknown";
}

interface Holder {
  readonly server: string;
  readonly digest: string;
}

/**
 * Notices when two spokes with different servers get the same token: the operator of one server could use the token at the other. Keeps only digests of
 * the tokens. Spec: security.md T-21.
 */
export class SharedTokens {
  readonly #key = randomBytes(32);
  readonly #holders = new Map<string, Holder>();

  /** Notes a new credential of a spoke. Returns the spokes with another server and the same token, sorted. */
  note(spoke: string, server: string, token: Secret | undefined): readonly string[] {
    this.#holders.delete(spoke);
    if (token === undefined) return [];
    const digest = createHmac("sha256", this.#key).update(token.reveal()).digest("base64");
    this.#holders.set(spoke, { server, digest });
    return this.sharers(spoke);
  }

  /** The spokes that share the token of this spoke, sorted. */
  sharers(spoke: string): readonly string[] {
    const own = this.#holders.get(spoke);
    return [...this.#holders]
      .filter(([, { server, digest }]) => digest === own?.digest && server !== own.server)
      .map(([name]) => name)
      .toSorted();
  }

  /** How many spokes have a shared token. */
  count(): number {
    const groups = Map.groupBy(this.#holders.values(), ({ digest }) => digest);
    return [...groups.values()]
      .filter((holders) => new Set(holders.map(({ server }) => server)).size > 1)
      .reduce((sum, { length }) => sum + length, 0);
  }

  forget(spoke: string): void {
    this.#holders.delete(spoke);
  }
}
