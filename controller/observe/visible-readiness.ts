import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { logFailure } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { abortable } from "../../access/time/deadline.ts";
import { Deadline } from "../../access/time/deadline.ts";
import { kindId, objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import {
  isWorkload,
  type Readiness,
  readinessOf,
  waitingAmong,
} from "../../installation/readiness.ts";
import type { Log } from "../log.ts";
import { findCause } from "./find-cause.ts";
import type { Observation } from "./observation.ts";

/** Readiness of the workloads that the controller may watch. */
export interface VisibleReadiness extends Readiness {
  /** Why the other workloads may not be watched, as a sentence of ours. Undefined when all may be watched. */
  readonly unseen: string | undefined;
}

export interface Visibility extends CauseDeps {
  readonly observation: Pick<Observation, "workloads" | "refused">;
  readonly causes: WorkloadCauses;
}

/** Reads the readiness of the desired workloads, and the cause why a workload has been unavailable for some time. */
export async function readVisibleReadiness(
  desired: readonly ObjectKey[],
  { observation, causes, ...deps }: Visibility,
  signal: AbortSignal,
): Promise<VisibleReadiness> {
  const refused = observation.refused();
  const watchRefusal = (key: ObjectKey): string | undefined =>
    isWorkload(key) ? refused.get(kindId(key)) : undefined;
  const seen = desired.filter((key) => watchRefusal(key) === undefined);
  const [unseen] = desired.flatMap((key) => watchRefusal(key) ?? []).toSorted();
  const waiting = waitingAmong(seen, observation.workloads());
  const causeById = await causes.find(waiting, deps, signal);
  const now = deps.clock.date();
  return { ...readinessOf(seen, observation.workloads(), causeById, now), unseen };
}

export interface CauseDeps {
  readonly client: Pick<KubeClient, "list">;
  readonly clock: Clock;
  readonly log: Log;
}

interface CauseCheck {
  nextAt: number;
  pauseMs: number;
  cause: string | undefined;
}

const firstCheckMs = 5_000;
const longestPauseMs = 300_000;
const maxOpenChecks = 5;
const limitMs = 3_000;

/**
 * Finds out why workloads do not become available. Lists the pods of a workload that has been waiting for 5 s, and again after 10 s, 20 s and so on up
 * to 5 minutes while it waits. A cluster that refuses the list is asked again after 5 minutes. A late answer counts for the next call.
 */
export class WorkloadCauses {
  readonly #checks = new Map<string, CauseCheck>();
  /** Identities of the workloads whose check is running. */
  readonly #open = new Set<string>();
  readonly #signal: AbortSignal;

  /** `signal` ends late requests. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Finds the causes of the workloads that wait now, by identity. Never rejects, and takes 3 s at most. */
  async find(
    waiting: readonly KubeObject[],
    deps: CauseDeps,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const now = deps.clock.now();
    const byId = new Map(waiting.map((workload) => [objectId(keyOf(workload)), workload]));
    for (const id of this.#checks.keys()) if (!byId.has(id)) this.#checks.delete(id);
    const free = maxOpenChecks - this.#open.size;
    const due = [...byId].filter(([id]) => this.#isDue(id, now)).slice(0, free);
    if (due.length > 0) {
      using bounded = new Deadline(deps.clock, limitMs, signal);
      const checks = Promise.all(due.map(([id, workload]) => this.#check(id, workload, deps)));
      await abortable(checks, bounded.signal).catch(() => undefined);
    }
    return new Map(
      [...byId.keys()].flatMap((id): [string, string][] => {
        const cause = this.#checks.get(id)?.cause;
        return cause === undefined ? [] : [[id, cause]];
      }),
    );
  }

  #isDue(id: string, now: number): boolean {
    const check = this.#checks.get(id);
    if (check !== undefined) return now >= check.nextAt && !this.#open.has(id);
    this.#checks.set(id, { nextAt: now + firstCheckMs, pauseMs: firstCheckMs, cause: undefined });
    return false;
  }

  /** Never rejects. */
  async #check(id: string, workload: KubeObject, { client, clock, log }: CauseDeps): Promise<void> {
    const check = this.#checks.get(id);
    if (check === undefined) return;
    this.#open.add(id);
    check.pauseMs = Math.min(longestPauseMs, check.pauseMs * 2);
    try {
      check.cause = await findCause(workload, client, this.#signal);
    } catch (err) {
      if (err instanceof ApiError && err.status === 403) check.pauseMs = longestPauseMs;
      logFailure(
        log,
        "debug",
        { workload: workload.metadata.name, err },
        "Could not look for a cause",
      );
    }
    this.#open.delete(id);
    check.nextAt = clock.now() + check.pauseMs;
  }
}
