import { pulledAnnotations } from "../../api/delivery.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { isComponent, isReady } from "./component-facts.ts";

/** The components that works brought to spokes, and the components of the hub that they are copies of. */
export class Copies {
  /** By uid of the component on the hub: uids of all copies that there were. */
  readonly #uids = new Map<string, Set<string>>();
  /** Uids and generations of components on the hub whose copy was Ready. */
  readonly #ready = new Set<string>();

  constructor(spokes: readonly SimulatedCluster[]) {
    for (const { store } of spokes) store.listen(({ object }) => this.#take(object));
  }

  /** The uids by which the installation of a component may be known on its spoke. */
  uidsOf({ metadata: { uid } }: StoredObject): ReadonlySet<string> {
    return new Set([uid, ...(this.#uids.get(uid) ?? [])]);
  }

  /** Whether a copy was Ready with the generation that a component has on the hub now. */
  wereReady({ metadata: { uid, generation } }: StoredObject): boolean {
    return this.#ready.has(`${uid} ${generation}`);
  }

  #take(object: StoredObject): void {
    const hubUid = hubUidOf(object);
    if (hubUid === undefined) return;
    const uids = this.#uids.get(hubUid) ?? new Set();
    this.#uids.set(hubUid, uids.add(object.metadata.uid));
    const { [pulledAnnotations.hubGeneration]: generation } = object.metadata.annotations ?? {};
    if (isReady(object)) this.#ready.add(`${hubUid} ${generation}`);
  }
}

/** Uid of the component on the hub that an object is a copy of; undefined: it is none. */
export function hubUidOf(object: StoredObject): string | undefined {
  if (!isComponent(object)) return undefined;
  return object.metadata.annotations?.[pulledAnnotations.hubComponentUid];
}

/** The copy of a component on a spoke; undefined when there is none. */
export function copyOn(spoke: SimulatedCluster, component: StoredObject): StoredObject | undefined {
  return [...spoke.store.everything()].find(
    (object) => hubUidOf(object) === component.metadata.uid,
  );
}
