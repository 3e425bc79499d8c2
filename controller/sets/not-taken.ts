import type { FleetSet } from "../../api/fleet-set.ts";
import type { Obstacle } from "../../sets/facts.ts";
import type { NotTaken } from "./send-writes.ts";

/** A component that the hub refused is sent again after this time. */
const refusedMs = 300_000;

interface Refusal {
  readonly obstacle: Obstacle;
  readonly of: string;
  readonly until: number;
}

/** The writes of one set that the hub refused. Times are ms of a monotonic clock. */
export class NotTakenMemory {
  readonly #refusals = new Map<string, Refusal>();
  #failed: ReadonlyMap<string, string> = new Map();

  /** Remembers the results of the writes of a decision. */
  remember(set: FleetSet, { refused, failed }: NotTaken, now: number) {
    for (const [cluster, obstacle] of refused) {
      this.#refusals.set(cluster, { obstacle, of: specOf(set), until: now + refusedMs });
    }
    this.#failed = failed;
  }

  /** The refusals that still count: not for another spec of the set, and not old ones. */
  refusals(set: FleetSet, now: number): ReadonlyMap<string, Obstacle> {
    for (const [cluster, { of, until }] of this.#refusals) {
      if (until <= now || of !== specOf(set)) this.#refusals.delete(cluster);
    }
    return new Map([...this.#refusals].map(([cluster, { obstacle }]) => [cluster, obstacle]));
  }

  /** Forgets the refusal for a cluster: the refused component is gone. */
  forget(cluster: string): void {
    this.#refusals.delete(cluster);
  }

  /** Why writes of the last decision failed, by cluster. */
  get failed(): ReadonlyMap<string, string> {
    return this.#failed;
  }

  /** When the first refused component is sent again. */
  get dueAt(): number {
    return Math.min(...[...this.#refusals.values()].map(({ until }) => until));
  }
}

/** Also another set may have the name. */
function specOf({ metadata: { uid, generation } }: FleetSet): string {
  return `${uid} ${generation ?? 0}`;
}
