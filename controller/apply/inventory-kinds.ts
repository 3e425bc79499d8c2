import { ApiError } from "../../access/api-error.ts";
import type { KubeClient } from "../../access/kube-client.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import { type ResourceType, tableResource } from "../../api/resources.ts";
import { kindKeyOf, servedKinds } from "../finalize-kinds.ts";
import { kindIdOf } from "../observe/sighting.ts";
import type { Inventory } from "./inventory.ts";
import { obsoleteEntries } from "./plan.ts";
import type { Desired } from "./prepare.ts";

/** Where objects of a kind are found; `absent`: nowhere, the cluster does not serve it. `unknown`: nobody said. */
export type Whereabouts = ResourceType | "absent" | "unknown";

/**
 * The kinds of what an inventory names and nobody wants any more. Only the cluster knows what custom kinds among them are called in its API, once their definition is
 * no part of what is desired.
 */
export class InventoryKinds {
  readonly #served = new Map<string, ResourceType>();
  #absent: ReadonlySet<string> = new Set();

  /** Asks for what is not known yet, with one request a group version; none where all kinds are built in or desired. */
  async lookUp(
    { desired, inventory }: { readonly desired: Desired; readonly inventory: Inventory },
    client: Pick<KubeClient, "request">,
    signal: AbortSignal,
  ): Promise<void> {
    const kinds = new Set(desired.objects.map(({ key }) => kindIdOf(key)));
    const open = obsoleteEntries(desired.objects, inventory.entries).filter(
      (entry) =>
        tableResource(entry.apiVersion, entry.kind) === undefined &&
        !kinds.has(kindIdOf(entry)) &&
        !this.#served.has(kindKeyOf(entry)),
    );
    const absent = new Set<string>();
    const versions = Map.groupBy(open, ({ apiVersion }) => apiVersion);
    await Promise.all(
      [...versions.values()].map(async (entries) => {
        try {
          const served = await servedKinds(client, entries, signal);
          for (const [kind, resource] of served) this.#served.set(kind, resource);
          for (const entry of entries) absent.add(kindKeyOf(entry));
        } catch (error) {
          // One API without an answer holds neither what is desired nor what else is obsolete.
          if (!(error instanceof ApiError)) throw error;
        }
      }),
    );
    this.#absent = absent;
  }

  /** Of something desired, or of something that was looked up. */
  of(key: Pick<ObjectKey, "apiVersion" | "kind">, { objects }: Desired): Whereabouts {
    const id = kindIdOf(key);
    const wanted = objects.find((object) => kindIdOf(object.key) === id)?.resource;
    const known = tableResource(key.apiVersion, key.kind) ?? this.#served.get(kindKeyOf(key));
    if (wanted !== undefined) return { ...wanted, apiVersion: key.apiVersion };
    return known ?? (this.#absent.has(kindKeyOf(key)) ? "absent" : "unknown");
  }
}
