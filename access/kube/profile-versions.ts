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

/** Reads a kind, by default ClusterProfile, in the first API version that the hub serves. Tries the next version when the hub no longer serves it (L08). */
export class ServedKind implements Pick<KubeClient, "list" | "watch"> {
  readonly #client: Pick<KubeClient, "list" | "watch">;
  /** The kind in each version, in order of preference. */
  readonly #resources: readonly ResourceType[];
  /** Index of the version in use. */
  #version = 0;

  constructor(
    client: Pick<KubeClient, "list" | "watch">,
    versions: readonly ResourceType[] = resources,
  ) {
    this.#client = client;
    this.#resources = versions;
  }

  /** The API version in use, which the hub serves when a list or a watch has succeeded. */
  get apiVersion(): string {
    return this.#resource().apiVersion;
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
    const resource = this.#resources[this.#version];
    if (resource === undefined) throw new Error("No version of the kind is known");
    return resource;
  }

  /** Switches to the next version after a 404; throws every other error. */
  #tryOther(error: unknown): void {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    this.#version = (this.#version + 1) % this.#resources.length;
  }
}

/** A ClusterProfile in the first API version that the hub serves; undefined when it does not exist. Throws as the client does. */
export async function getProfile(
  client: Pick<KubeClient, "get">,
  ref: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  for (const resource of resources) {
    // oxlint-disable-next-line no-await-in-loop -- the next version is read only without this one
    const profile = await client.get({ resource, ...ref }, {}, signal);
    if (profile !== undefined) return profile;
  }
  return undefined;
}
