import { clusterProfileApiVersions } from "../../api/cluster-profile.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { ApiError } from "./api-error.ts";
import type {
  CollectionRef,
  KubeClient,
  KubeList,
  WatchEvent,
  WatchOptions,
} from "./kube-client.ts";

const resources = clusterProfileApiVersions.map((version) =>
  knownResource(version, "ClusterProfile"),
);

/** ClusterProfiles in whichever version the hub serves: the first one that it does, found anew when that ends (L08). */
export class ServedProfiles implements Pick<KubeClient, "list" | "watch"> {
  readonly #client: Pick<KubeClient, "list" | "watch">;
  #served = 0;

  constructor(client: Pick<KubeClient, "list" | "watch">) {
    this.#client = client;
  }

  list(
    ref: CollectionRef,
    options: Parameters<KubeClient["list"]>[1],
    signal: AbortSignal,
  ): Promise<KubeList> {
    const list = (): Promise<KubeList> => this.#client.list(this.#ref(ref), options, signal);
    return list().catch((error: unknown) => {
      this.#tryOther(error);
      return list();
    });
  }

  async *watch(
    ref: CollectionRef,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent> {
    try {
      yield* this.#client.watch(this.#ref(ref), options, signal);
      return;
    } catch (error) {
      this.#tryOther(error);
    }
    yield* this.#client.watch(this.#ref(ref), options, signal);
  }

  #ref(ref: CollectionRef): CollectionRef {
    return { ...ref, resource: this.#resource() };
  }

  #resource(): ResourceType {
    const resource = resources[this.#served];
    if (resource === undefined) throw new Error("There is a version");
    return resource;
  }

  /** Goes on to the next version when this one is not served; throws the error when it says something else. */
  #tryOther(error: unknown): void {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    this.#served = (this.#served + 1) % resources.length;
  }
}

/** A ClusterProfile in whichever version the hub serves; undefined when it does not exist. Throws as the client does. */
export async function getProfile(
  client: Pick<KubeClient, "get">,
  ref: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  for (const resource of resources) {
    // oxlint-disable-next-line no-await-in-loop -- the second is asked for only without the first
    const found = await client.get({ resource, ...ref }, {}, signal);
    if (found !== undefined) return found;
  }
  return undefined;
}
