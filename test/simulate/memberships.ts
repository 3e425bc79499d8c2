import { holdLabel } from "../../api/fleet-set.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { StageBudgets } from "./components.ts";
import { profileKey } from "./fleet.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A replica may hear nothing of a change on the hub for so long: a watch that is silent ends after 150 s. */
export const unheardMs = 200_000;

export type StageName = keyof StageBudgets;

/** Which clusters a rollout has to take, by the labels of their ClusterProfiles. */
export class Memberships {
  readonly #hub: SimulatedCluster;
  readonly #time: VirtualTime;
  /** By name of the ClusterProfile: when its labels were changed last. */
  readonly #labelled = new Map<string, number>();
  /** By name of the ClusterProfile: when it was held last; Infinity: it is. */
  readonly #heldAt = new Map<string, number>();

  constructor(hub: SimulatedCluster, time: VirtualTime) {
    this.#hub = hub;
    this.#time = time;
    hub.store.listen(({ object: { kind, metadata } }) => {
      if (kind !== "ClusterProfile") return;
      this.#labelled.set(metadata.name, time.nowMs);
      const wasHeld = this.#heldAt.get(metadata.name) === Infinity;
      if (metadata.labels?.[holdLabel] === "true") this.#heldAt.set(metadata.name, Infinity);
      else if (wasHeld) this.#heldAt.set(metadata.name, time.nowMs);
    });
  }

  /** The stage that a cluster belongs to by its label. */
  stageOf(profile: string): StageName {
    return this.#profile(profile)?.metadata.labels?.["ring"] === "0" ? "canary" : "rest";
  }

  isHeld(profile: string): boolean {
    return this.#profile(profile)?.metadata.labels?.[holdLabel] === "true";
  }

  /** Whether some replica may believe that a cluster is held. */
  mayBeHeld(profile: string): boolean {
    return (this.#heldAt.get(profile) ?? -Infinity) > this.#time.nowMs - unheardMs;
  }

  /** Whether every replica knew the labels of a ClusterProfile at a time, and they are still the same. Absent: now. */
  isHeard(profile: string, atMs = this.#time.nowMs): boolean {
    return atMs - (this.#labelled.get(profile) ?? -Infinity) > unheardMs;
  }

  #profile(name: string): StoredObject | undefined {
    const { apiVersion, kind, ...metadata } = profileKey(name);
    return this.#hub.store.find({ apiVersion, kind, metadata });
  }
}
