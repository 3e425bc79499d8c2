import type { Backup } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { componentUidOf, isComponent } from "./component-facts.ts";
import type { SimulatedFleet } from "./fleet.ts";
import { pick } from "./random.ts";

const mostBackups = 8;

interface KeptBackup extends Backup {
  readonly atMs: number;
}

/** Backups of the clusters of a fleet, and what their restoring leaves behind. */
export class Restores {
  readonly #fleet: SimulatedFleet;
  readonly #backups = new Map<SimulatedCluster, readonly KeptBackup[]>();

  constructor(fleet: SimulatedFleet) {
    this.#fleet = fleet;
  }

  /** Keeps a backup of each cluster. */
  backUp(atMs: number): void {
    for (const cluster of [this.#fleet.hub, ...this.#fleet.spokes]) {
      const kept = this.#backups.get(cluster) ?? [];
      const backup = { ...cluster.store.backup(), atMs };
      this.#backups.set(cluster, [...kept, backup].slice(-mostBackups));
    }
  }

  /** Restores a cluster from one of the last backups. Returns when that was made, in ms; undefined: there is none. */
  restore(cluster: SimulatedCluster, die: number): number | undefined {
    const kept = this.#backups.get(cluster) ?? [];
    const backup = pick(kept, die);
    if (backup === undefined) return undefined;
    // A later backup is one of what never was.
    this.#backups.set(cluster, kept.slice(0, kept.indexOf(backup) + 1));
    const before = this.#componentUids();
    cluster.restore(backup);
    const after = this.#componentUids();
    const lost =
      cluster === this.#fleet.hub ? before.difference(after) : uidsOn(cluster).difference(after);
    for (const uid of lost) this.#fleet.orphans.add(uid);
    return backup.atMs;
  }

  /** Removes what nobody's components have on the spokes, as people do with `kubectl knfleet orphans`: a new component of that name waits for it. */
  removeOrphans(): void {
    const uids = this.#componentUids();
    for (const { store } of this.#fleet.spokes) {
      for (const object of store.everything()) {
        const uid = componentUidOf(object) ?? "";
        if (this.#fleet.orphans.has(uid) && !uids.has(uid)) store.drop(object);
      }
    }
  }

  #componentUids(): Set<string> {
    const components = [...this.#fleet.hub.store.everything()].filter(isComponent);
    return new Set(components.map(({ metadata }) => metadata.uid));
  }
}

/** The components that something on a spoke belongs to. */
function uidsOn({ store }: SimulatedCluster): Set<string> {
  return new Set([...store.everything()].flatMap((object) => componentUidOf(object) ?? []));
}
