import type { ClusterProfile } from "../../api/cluster-profile.ts";
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
}

class KeptSpokes {
  /** By uid of the ClusterProfile. */
  readonly #kept = new Map<string, Kept>();

  keeping(reach: Reach): Reach {
    return async (profile, signal, waits) => {
      const { uid } = profile.metadata;
      const way = wayOf(profile);
      const known = this.#kept.get(uid);
      if (known !== undefined && known.way !== way) this.#drop(uid, known);
      const kept = this.#kept.get(uid) ?? { way, spoke: reach(profile, signal, waits) };
      this.#kept.set(uid, kept);
      try {
        const { client, provider } = await kept.spoke;
        const giveUp = (): void => this.#drop(uid, kept);
        return { client, provider, giveUp, [Symbol.asyncDispose]: () => Promise.resolve() };
      } catch (error) {
        this.#drop(uid, kept);
        throw error;
      }
    };
  }

  end(): void {
    for (const [uid, kept] of this.#kept) this.#drop(uid, kept);
  }

  /** Not waited for: the end of a connection to a server that is silent takes seconds. */
  #drop(uid: string, kept: Kept): void {
    if (this.#kept.get(uid) === kept) this.#kept.delete(uid);
    void kept.spoke.then((spoke) => spoke[Symbol.asyncDispose]()).catch(() => undefined);
  }
}

function wayOf({ status }: ClusterProfile): string {
  return JSON.stringify([status?.accessProviders, status?.credentialProviders]);
}
