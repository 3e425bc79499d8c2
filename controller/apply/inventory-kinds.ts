import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { kindId, versionedKindId } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import { type ResourceType, tableResource } from "../../api/resources.ts";
import { type Desired, withServedKinds } from "../../installation/desired.ts";
import type { Inventory, InventoryEntry } from "../../installation/inventory.ts";
import { obsoleteEntries } from "../../installation/plan.ts";
import { servedKinds } from "./served-kinds.ts";

/** Where the objects of a kind are found. `absent`: the cluster does not serve the kind. `unknown`: the API of the kind was not asked, or did not answer. */
export type KindPlace = ResourceType | "absent" | "unknown";

/** Kinds whose plural and scope only the cluster knows: desired custom kinds without their CRD, and kinds of obsolete objects in the inventory. */
export class InventoryKinds {
  readonly #served = new Map<string, ResourceType>();
  #absent: ReadonlySet<string> = new Set();
  #located: { readonly desired: Desired; readonly result: Desired } | undefined;

  /**
   * The desired set with its objects where the cluster serves their kinds. Asks for the guessed kinds that are not known yet, with one request a
   * group version. A kind that is not served, or whose API does not answer, keeps its guessed resource.
   */
  async locate(
    desired: Desired,
    client: Pick<KubeClient, "request">,
    signal: AbortSignal,
  ): Promise<Desired> {
    const open = desired.guessed.filter((key) => !this.#served.has(versionedKindId(key)));
    if (open.length > 0) await this.#ask(open, client, signal);
    if (this.#located?.desired !== desired) {
      this.#located = { desired, result: withServedKinds(desired, this.#served) };
    }
    return this.#located.result;
  }

  /** The cluster does not serve a kind at its known resource any more. */
  forget(key: Pick<ObjectKey, "apiVersion" | "kind">): void {
    if (this.#served.delete(versionedKindId(key))) this.#located = undefined;
  }

  /** Asks for the kinds that are not known yet, with one request a group version. Sends no request when all kinds are built in or desired. */
  async lookUp(
    { desired, inventory }: { readonly desired: Desired; readonly inventory: Inventory },
    client: Pick<KubeClient, "request">,
    signal: AbortSignal,
  ): Promise<void> {
    const kinds = new Set(desired.objects.map(({ key }) => kindId(key)));
    const open = obsoleteEntries(desired.objects, inventory.entries).filter(
      (entry) =>
        tableResource(entry.apiVersion, entry.kind) === undefined &&
        !kinds.has(kindId(entry)) &&
        !this.#served.has(versionedKindId(entry)),
    );
    this.#absent = await this.#ask(open, client, signal);
  }

  /** Looks up where kinds are served. Returns the kinds whose API answered, by `versionedKindId`. */
  async #ask(
    keys: readonly (ObjectKey & Partial<Pick<InventoryEntry, "fingerprint">>)[],
    client: Pick<KubeClient, "request">,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const answered = new Set<string>();
    const versions = Map.groupBy(keys, ({ apiVersion }) => apiVersion);
    await Promise.all(
      [...versions.values()].map(async (ofVersion) => {
        try {
          const served = await servedKinds(client, ofVersion, signal);
          for (const [kind, resource] of served) this.#served.set(kind, resource);
          if (served.size > 0) this.#located = undefined;
          for (const key of ofVersion) answered.add(versionedKindId(key));
        } catch (error) {
          // An API without an answer must not stop the desired objects, nor the other obsolete ones.
          if (!(error instanceof ApiError)) throw error;
        }
      }),
    );
    return answered;
  }

  /** The resource of a desired kind, or of a kind that was looked up. */
  of(key: Pick<ObjectKey, "apiVersion" | "kind">, { objects }: Desired): KindPlace {
    const id = kindId(key);
    const wanted = objects.find((object) => kindId(object.key) === id)?.resource;
    const known = tableResource(key.apiVersion, key.kind) ?? this.#served.get(versionedKindId(key));
    if (wanted !== undefined) return { ...wanted, apiVersion: key.apiVersion };
    return known ?? (this.#absent.has(versionedKindId(key)) ? "absent" : "unknown");
  }
}
