import { createHmac, randomBytes } from "node:crypto";

import { FleetError } from "../../api/errors.ts";
import type { Credential, Secret } from "../plugins/credential.ts";
import type { SpokeState } from "./spokes.ts";

/** One run of a plugin, or of a built-in reader. */
interface PluginRun {
  readonly provider: string;
  /** Code of the failure, `OK` without one. */
  readonly code: string;
  readonly durationMs: number;
}

/** What is known of the connection to one spoke. */
export interface SpokeGauge {
  readonly state: SpokeState["kind"];
  /** When the credential ends, in ms since the epoch; absent: not known, or there is none that the spoke accepts. */
  readonly expiresAtMs?: number;
}

/** Numbers of the path to the spokes: it is told what happens, and asked when metrics are wanted. */
export class PathMetrics {
  readonly #spokes = new Map<string, SpokeGauge>();
  readonly #credentials = new Map<string, Credential>();
  readonly #listeners = new Set<(run: PluginRun) => void>();
  /** Which spokes have been given which tokens. */
  readonly tokens = new SharedTokens();
  #isFileValid: boolean | undefined;

  /** Calls back after every run of a plugin. */
  onRun(listener: (run: PluginRun) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** By `namespace/name` of the ClusterProfile; a spoke that is gone is not in it. */
  spokes(): ReadonlyMap<string, SpokeGauge> {
    return this.#spokes;
  }

  /** Whether the provider file that is there now can be used; undefined when there is none at all. */
  isProviderFileValid(): boolean | undefined {
    return this.#isFileValid;
  }

  /** Measures the work of a plugin. Rejects as the work does; work that was given up is not counted. */
  async measure<Result>(
    provider: string,
    work: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const started = performance.now();
    const tell = (code: string): void => {
      const durationMs = performance.now() - started;
      for (const listener of this.#listeners) listener({ provider, code, durationMs });
    };
    try {
      const result = await work();
      tell("OK");
      return result;
    } catch (error) {
      if (!signal.aborted) tell(codeOf(error));
      throw error;
    }
  }

  providerFileIs(isValid: boolean): void {
    this.#isFileValid = isValid;
  }

  spokeIs(spoke: string, state: SpokeState["kind"]): void {
    this.#spokes.set(spoke, { ...this.#spokes.get(spoke), state });
  }

  /** A spoke that is not known is not brought back by its last credential. */
  credentialOf(spoke: string, credential: Credential): void {
    const known = this.#spokes.get(spoke);
    if (known === undefined) return;
    const { state } = known;
    const { expiresAtMs } = credential;
    this.#credentials.set(spoke, credential);
    this.#spokes.set(spoke, expiresAtMs === undefined ? { state } : { state, expiresAtMs });
  }

  /** A credential is not used any more; nothing is said of its end then, unless the spoke has got another one since. */
  credentialDropped(spoke: string, credential: Credential): void {
    if (this.#credentials.get(spoke) !== credential) return;
    this.#credentials.delete(spoke);
    const known = this.#spokes.get(spoke);
    if (known !== undefined) this.#spokes.set(spoke, { state: known.state });
  }

  spokeGone(spoke: string): void {
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
 * Notices when servers of two spokes are sent the same token: whoever runs one of them could use it at the other. Keeps
 * digests alone. Spec: security.md T-21.
 */
export class SharedTokens {
  readonly #key = randomBytes(32);
  readonly #holders = new Map<string, Holder>();

  /** Spokes with another server that are known to have the same token, sorted; call it for each new credential. */
  note(spoke: string, server: string, token: Secret | undefined): readonly string[] {
    this.#holders.delete(spoke);
    if (token === undefined) return [];
    const digest = createHmac("sha256", this.#key).update(token.reveal()).digest("base64");
    this.#holders.set(spoke, { server, digest });
    return this.sharers(spoke);
  }

  /** Spokes that share the token of this one. */
  sharers(spoke: string): readonly string[] {
    const own = this.#holders.get(spoke);
    return [...this.#holders]
      .filter(([, { server, digest }]) => digest === own?.digest && server !== own.server)
      .map(([name]) => name)
      .toSorted();
  }

  /** How many spokes have a token that is not theirs alone. */
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
