import { createHmac, randomBytes } from "node:crypto";

import type { Secret } from "../secret.ts";

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
