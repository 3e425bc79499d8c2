import { leaderLease, partLease, shardOf } from "../../api/shards.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { fleetNamespace, type SimulatedFleet } from "./fleet.ts";
import type { Sender } from "./network.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** As the defaults of the controller: who held a Lease may write for so long after a renewal, and others wait for this long. */
const times = { renewDeadlineMs: 10_000, durationMs: 15_000 } as const;

export interface LeaseChecksOptions {
  readonly time: VirtualTime;
  readonly fleet: SimulatedFleet;
  readonly onProblem: (text: string) => void;
}

/** Who writes has the Lease for it, and no two replicas write to one cluster, whatever numbers of shards they have. */
export class LeaseChecks {
  readonly #options: LeaseChecksOptions;
  /** By name of the Lease: when it was written last. */
  readonly #writtenAt = new Map<string, number>();
  readonly #writers = new Map<SimulatedCluster, Sender>();

  constructor(options: LeaseChecksOptions) {
    this.#options = options;
    const { fleet, time } = options;
    fleet.hub.store.listen(({ object: { kind, metadata } }) => {
      if (kind === "Lease") this.#writtenAt.set(metadata.name, time.nowMs);
    });
  }

  /** A write leaves a replica. `what`: the write, for the message. */
  onWrite(sender: Sender, cluster: SimulatedCluster, what: string): void {
    const { home } = sender;
    // Every replica has to hear first that its hub has another holder than before.
    if (home.isRestoredWithin(times.durationMs)) return;
    // The definitions that an agent brings are written before there is a leader.
    if (what.includes("fieldManager=knfleet-crds")) return;
    const names = leasesFor(sender, cluster);
    if (!names.some((name) => holderOf(home, name) === sender.name)) {
      const holders = names.map((name) => holderOf(home, name) || "nobody").join(", ");
      this.#options.onProblem(`${sender.name} writes ${what} while ${holders} holds the Lease`);
    }
    if (cluster !== home) this.#checkAlone(sender, cluster, what);
  }

  #checkAlone(sender: Sender, cluster: SimulatedCluster, what: string): void {
    const { time, onProblem } = this.#options;
    const before = this.#writers.get(cluster);
    this.#writers.set(cluster, sender);
    if (before === undefined || before === sender) return;
    for (const name of leasesFor(before, cluster)) {
      const ageMs = time.nowMs - (this.#writtenAt.get(name) ?? -Infinity);
      if (holderOf(before.home, name) !== before.name || ageMs > times.renewDeadlineMs) continue;
      onProblem(`${sender.name} writes ${what} while ${before.name} may write there with ${name}`);
    }
  }
}

function holderOf({ store }: SimulatedCluster, name: string): string {
  const lease = store.get("coordination.k8s.io/Lease", `knfleet-system/${name}`);
  const holder = valueAt(lease, "spec", "holderIdentity");
  return typeof holder === "string" ? holder : "";
}

/** The Leases of which a replica needs one to write to a cluster. */
function leasesFor({ shards, home }: Sender, cluster: SimulatedCluster): readonly string[] {
  if (shards === 1) return [leaderLease];
  if (cluster !== home) {
    return [partLease(shardOf(`${fleetNamespace}/${cluster.name}`, shards), shards)];
  }
  const parts = [...Array(shards).keys(), "fleet" as const];
  return parts.map((part) => partLease(part, shards));
}
