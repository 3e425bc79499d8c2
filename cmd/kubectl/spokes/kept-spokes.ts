import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import type { ClusterAccess, SpokeAccess, SpokesAccess } from "./cluster-access.ts";

type Reach = NonNullable<SpokesAccess["reach"]>;

/**
 * The same access, for a command that reads clusters again and again: a cluster is connected to once, and its plugin runs when its credential ends. A connection
 * by which something could not be read is given up, and so is one whose ClusterProfile names another way in. Dispose it to end all of them.
 */
export function keepingSpokes(access: ClusterAccess): ClusterAccess {
  const kept = new KeptSpokes();
  return {
    ...access,
    async spokes() {
      const found = await access.spokes();
      const { reach } = found;
      return reach === undefined ? found : { ...found, reach: kept.keeping(reach) };
    },
    [Symbol.asyncDispose]() {
      kept.end();
      return Promise.resolve();
    },
  };
}

interface Kept {
  /** What the ClusterProfile says of the way in. */
  readonly way: string;
  readonly spoke: Promise<SpokeAccess>;
  /** How many read through it now. */
  readers: number;
  isGivenUp: boolean;
}

class KeptSpokes {
  /** By uid of the ClusterProfile. */
  readonly #kept = new Map<string, Kept>();

  keeping(reach: Reach): Reach {
    return async (profile, signal, waits) => {
      const { uid } = profile.metadata;
      const way = wayOf(profile);
      const known = this.#kept.get(uid);
      if (known !== undefined && known.way !== way) this.#giveUp(uid, known);
      const kept = this.#kept.get(uid) ?? {
        way,
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

/** Not waited for: the end of a connection to a server that is silent takes seconds. */
function closeUnused({ spoke, readers, isGivenUp }: Kept): void {
  if (!isGivenUp || readers > 0) return;
  void spoke.then((connection) => connection[Symbol.asyncDispose]()).catch(() => undefined);
}

function wayOf({ status }: ClusterProfile): string {
  return JSON.stringify([status?.accessProviders, status?.credentialProviders]);
}
