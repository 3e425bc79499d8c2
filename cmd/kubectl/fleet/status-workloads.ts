import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import { targetId } from "../../../api/keys.ts";
import {
  readUserWorkloads,
  type WorkloadReading,
} from "../../../controller/verify/read-workloads.ts";
import { componentOfWorkload, isReadyWorkload } from "../../../installation/user-workloads.ts";
import type { ReadOne } from "../spokes/read-clusters.ts";
import { unreadBecause } from "../spokes/spoke-reading.ts";

/** The objects by which the users of a cluster use one component. */
export interface WorkloadCount {
  readonly ready: number;
  readonly all: number;
}

/** Counts the workloads of users, beside what else is read of their clusters. */
export class WorkloadCounts {
  readonly #timeoutMs: number;
  readonly #byCluster = new Map<string, WorkloadReading>();

  /** `timeoutMs`: time for one cluster. The workloads get half of it, because a cluster with many of them is to be read nevertheless. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs / 2;
  }

  /** Reads the workloads of a cluster. Rejects only for a bug. */
  readonly read: ReadOne<void> = async ({ id, client }, signal) => {
    try {
      const late = withTimeout(systemClock, this.#timeoutMs, signal);
      this.#byCluster.set(id, await readUserWorkloads(client, late));
    } catch (error) {
      if (!signal.aborted) unreadBecause(error, this.#timeoutMs);
    }
  };

  /** The workloads of a component; null: not all of its cluster could be read. */
  of(component: Component): { readonly workloads: WorkloadCount | null } {
    const reading = this.#byCluster.get(targetId(component));
    if (reading === undefined || reading.unread.length > 0) return { workloads: null };
    const own = reading.workloads.filter((one) => componentOfWorkload(one) === component.kind);
    return { workloads: { ready: own.filter(isReadyWorkload).length, all: own.length } };
  }
}
