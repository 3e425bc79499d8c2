import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import type { ClusterAccess, SpokeAccess, SpokesAccess } from "./cluster-access.ts";

type Reach = NonNullable<SpokesAccess["reach"]>;

/**
 * Wraps an access for a command that reads clusters repeatedly: it connects to each cluster once, and the plugin runs again only when the credential ends.
 * A connection is closed when a read over it failed, or when its ClusterProfile has changed its access. Disposing the result closes all of them.
 */
export function keepSpokes(access: ClusterAccess): ClusterAccess {
  const kept = new KeptSpokes();
  return {
    ...access,
    async spokes() {
      const spokes = await access.spokes();
      const { reach } = spokes;
      return reach === undefined ? spokes : { ...spokes, reach: kept.wrap(reach) };
    },
    [Symbol.asyncDispose]() {
      kept.end();
      return Promise.resolve();
    },
  };
}

interface Kept {
  /** The access providers of the ClusterProfile, as JSON. */
  readonly accessText: string;
  readonly spoke: Promise<SpokeAccess>;
  /** How many reads use the connection now. */
  readers: number;
  isGivenUp: boolean;
}

class KeptSpokes {
  /** By uid of the ClusterProfile. */
  readonly #kept = new Map<string, Kept>();

  wrap(reach: Reach): Reach {
    return async (profile, signal, waits) => {
      const { uid } = profile.metadata;
      const accessText = accessTextOf(profile);
      const known = this.#kept.get(uid);
      if (known !== undefined && known.accessText !== accessText) this.#giveUp(uid, known);
      const kept = this.#kept.get(uid) ?? {
        accessText,
        spoke: reach(profile, signal, waits),
        readers: 0,
        isGivenUp: false,
      };
      this.#kept.set(uid, kept);
      kept.readers += 1;
      try {
        const { client, provider } = await kept.spoke;
        return {
          client,
          provider,
          giveUp: () => this.#giveUp(uid, kept),
          [Symbol.asyncDispose]: () => {
            kept.readers -= 1;
            closeUnused(kept);
            return Promise.resolve();
          },
        };
      } catch (error) {
        kept.readers -= 1;
        this.#giveUp(uid, kept);
        throw error;
      }
    };
  }

  end(): void {
    for (const [uid, kept] of this.#kept) {
      kept.readers = 0;
      this.#giveUp(uid, kept);
    }
  }

  /** The next read connects again. Readers of the old connection notice the failure themselves. */
  #giveUp(uid: string, kept: Kept): void {
    kept.isGivenUp = true;
    if (this.#kept.get(uid) === kept) this.#kept.delete(uid);
    closeUnused(kept);
  }
}

/** Closes without waiting: closing a connection to a silent server takes seconds. */
function closeUnused({ spoke, readers, isGivenUp }: Kept): void {
  if (!isGivenUp || readers > 0) return;
  void spoke.then((connection) => connection[Symbol.asyncDispose]()).catch(() => undefined);
}

function accessTextOf({ status }: ClusterProfile): string {
  return JSON.stringify([status?.accessProviders, status?.credentialProviders]);
}
