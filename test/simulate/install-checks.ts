import { objectId } from "../../api/keys.ts";
import { inventoryTextOf } from "../../installation/anchor-object.ts";
import { anchorAnnotations, componentUidLabel } from "../../installation/anchor.ts";
import { spokeNamespaceAnnotation } from "../../installation/installation-namespace.ts";
import { decodeInventory } from "../../installation/inventory.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import type { Arrival, SimulatedCluster } from "./cluster.ts";
import { hasFinalizer, isComponent } from "./component-facts.ts";
import { hubUidOf } from "./copies.ts";
import { unheardMs } from "./memberships.ts";

const rootOwner = "-root-owner";

export interface InstallChecksOptions {
  readonly onProblem: (text: string) => void;
}

/** What has to be stored before an object of an installation is sent to its spoke. */
export class InstallChecks {
  readonly #options: InstallChecksOptions;
  /** Names in the inventories, by the uid of the anchor. */
  readonly #named = new Map<string, { readonly version: string; readonly ids: Set<string> }>();

  constructor(options: InstallChecksOptions) {
    this.#options = options;
  }

  /** A request leaves a replica for a spoke. `home`: the cluster that has its components. */
  onSend(home: SimulatedCluster, spoke: SimulatedCluster, { method, body = "" }: Arrival): void {
    if (method !== "PATCH" || !body.includes(componentUidLabel)) return;
    // A replica knows what it stored before it hears that a backup has not.
    if ([home, spoke].some((cluster) => cluster.isRestoredWithin(unheardMs))) return;
    const sent: unknown = JSON.parse(body);
    const textAt = (...path: readonly string[]): string => {
      const value = valueAt(sent, ...path);
      return typeof value === "string" ? value : "";
    };
    const [kind, name] = [textAt("kind"), textAt("metadata", "name")];
    if (name.endsWith(rootOwner)) return;
    const uid = textAt("metadata", "labels", componentUidLabel);
    const component = [...home.store.everything()].find(({ metadata }) => metadata.uid === uid);
    if (component === undefined || !isComponent(component)) return;
    const namespace = textAt("metadata", "namespace");
    const key = { apiVersion: textAt("apiVersion"), kind, name, ...(namespace && { namespace }) };
    const lack = this.#lackOf(objectId(key), spoke, component);
    if (lack !== undefined)
      this.#options.onProblem(`${kind} ${name} is sent to ${spoke.name} before ${lack}`);
  }

  /** What is not stored yet, though an object of a component is sent. */
  #lackOf(id: string, spoke: SimulatedCluster, component: StoredObject): string | undefined {
    const { uid, annotations } = component.metadata;
    if (!hasFinalizer(component)) return "the hub has the finalizer";
    // A copy is installed where it is.
    const hasPlace = hubUidOf(component) !== undefined || annotations?.[spokeNamespaceAnnotation];
    if (hasPlace === undefined) return "the hub has its place";
    const anchor = anchorOf(spoke, uid);
    if (anchor === undefined) return "the anchor";
    return this.#idsIn(anchor).has(id) ? undefined : "the inventory names it";
  }

  #idsIn(anchor: StoredObject): ReadonlySet<string> {
    const { uid, resourceVersion: version } = anchor.metadata;
    const known = this.#named.get(uid);
    if (known?.version === version) return known.ids;
    const { entries = [] } = decodeInventory(inventoryTextOf(anchor)) ?? {};
    const ids = new Set(entries.map(objectId));
    this.#named.set(uid, { version, ids });
    return ids;
  }
}

/** Whether the inventory on a spoke says that everything of the version in the status is accepted. */
export function isRecorded(spoke: SimulatedCluster, component: StoredObject): boolean {
  const anchor = anchorOf(spoke, component.metadata.uid);
  const inventory = anchor && decodeInventory(inventoryTextOf(anchor));
  const version = valueAt(component, "status", "version");
  return inventory?.complete === true && inventory.version === version;
}

function anchorOf({ store }: SimulatedCluster, uid: string): StoredObject | undefined {
  return [...store.all("/ConfigMap")].find(
    ({ metadata: { name, annotations } }) =>
      name.endsWith(rootOwner) && annotations?.[anchorAnnotations.componentUid] === uid,
  );
}
