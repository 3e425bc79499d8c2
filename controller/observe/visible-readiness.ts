import { abortable } from "../../access/deadline.ts";
import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { isRecord } from "../../api/fields.ts";
import { identityOf, keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { kindIdOf } from "../../installation/kinds.ts";
import { causeOfPods, causeOfRefusal } from "../../installation/pod-cause.ts";
import {
  isWorkload,
  type Readiness,
  readinessOf,
  waitingAmong,
} from "../../installation/readiness.ts";
import type { Log } from "../log.ts";
import { type Clock, limited } from "../queue/clock.ts";
import type { Observation } from "./observation.ts";

/** Readiness of the workloads that may be watched. */
export interface VisibleReadiness extends Readiness {
  /** Why nothing is known of the others, in words of ours; undefined when there are none. */
  readonly unseen: string | undefined;
}

export interface Visibility extends CauseDeps {
  readonly observation: Pick<Observation, "workloads" | "refused">;
  readonly causes: WorkloadCauses;
}

/** How the desired workloads are doing, and why some that have waited for a while are not available. */
export async function visibleReadiness(
  desired: readonly ObjectKey[],
  { observation, causes, ...deps }: Visibility,
  signal: AbortSignal,
): Promise<VisibleReadiness> {
  const refused = observation.refused();
  const refusalOf = (key: ObjectKey): string | undefined =>
    isWorkload(key) ? refused.get(kindIdOf(key)) : undefined;
  const seen = desired.filter((key) => refusalOf(key) === undefined);
  const [unseen] = desired.flatMap((key) => refusalOf(key) ?? []).toSorted();
  const waiting = waitingAmong(seen, observation.workloads());
  const found = await causes.of(waiting, deps, signal);
  return { ...readinessOf(seen, observation.workloads(), found), unseen };
}

export interface CauseDeps {
  readonly client: Pick<KubeClient, "list">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Look {
  nextAt: number;
  pauseMs: number;
  cause: string | undefined;
}

const pods = knownResource("v1", "Pod");
const events = knownResource("v1", "Event");
const firstLookMs = 5_000;
const longestPauseMs = 300_000;
const looksAtOnce = 5;
const limitMs = 3_000;

/**
 * Finds out why workloads do not become available: for each that has been waiting for 5 s one list of its pods, and again after 10 s,
 * 20 s and so on up to 5 minutes while it waits. A cluster that does not allow that is not asked again for 5 minutes. An answer that takes longer
 * than anybody waits for it counts when it comes.
 */
export class WorkloadCauses {
  readonly #looks = new Map<string, Look>();
  /** Identities of workloads that are being looked at. */
  readonly #open = new Set<string>();
  readonly #signal: AbortSignal;

  /** `signal` ends what nobody waits for any more. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** What is known of the workloads that wait now, by identity. Never fails, and takes 3 s at most. */
  async of(
    waiting: readonly KubeObject[],
    deps: CauseDeps,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const now = deps.clock.now();
    const byId = new Map(waiting.map((workload) => [identityOf(keyOf(workload)), workload]));
    for (const id of this.#looks.keys()) if (!byId.has(id)) this.#looks.delete(id);
    const free = looksAtOnce - this.#open.size;
    const due = [...byId].filter(([id]) => this.#isDue(id, now)).slice(0, free);
    if (due.length > 0) {
      using bounded = limited(deps.clock, limitMs, signal);
      const looks = Promise.all(due.map(([id, one]) => this.#look(id, one, deps)));
      await abortable(looks, bounded.signal).catch(() => undefined);
    }
    return new Map(
      [...byId.keys()].flatMap((id): [string, string][] => {
        const cause = this.#looks.get(id)?.cause;
        return cause === undefined ? [] : [[id, cause]];
      }),
    );
  }

  #isDue(id: string, now: number): boolean {
    const look = this.#looks.get(id);
    if (look !== undefined) return now >= look.nextAt && !this.#open.has(id);
    this.#looks.set(id, { nextAt: now + firstLookMs, pauseMs: firstLookMs, cause: undefined });
    return false;
  }

  /** Never rejects. */
  async #look(id: string, workload: KubeObject, { client, clock, log }: CauseDeps): Promise<void> {
    const look = this.#looks.get(id);
    if (look === undefined) return;
    this.#open.add(id);
    look.pauseMs = Math.min(longestPauseMs, look.pauseMs * 2);
    try {
      look.cause = await causeOf(workload, client, this.#signal);
    } catch (err) {
      if (err instanceof ApiError && err.status === 403) look.pauseMs = longestPauseMs;
      log.debug({ workload: workload.metadata.name, err }, "Could not look for a cause");
    }
    this.#open.delete(id);
    look.nextAt = clock.now() + look.pauseMs;
  }
}

async function causeOf(
  workload: KubeObject,
  client: CauseDeps["client"],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace } = workload.metadata;
  const labelSelector = selectorOf(workload);
  // An empty selector would be everybody's pods.
  if (namespace === undefined || labelSelector === "") return undefined;
  const ref = { resource: pods, namespace, labelSelector };
  const { items } = await client.list(ref, {}, signal);
  // Only a Deployment says itself that its pods are refused.
  if (items.length > 0 || workload.kind === "Deployment") return causeOfPods(items);
  return causeOfEvents(workload, client, signal);
}

async function causeOfEvents(
  { kind, metadata: { namespace, name, uid } }: KubeObject,
  client: CauseDeps["client"],
  signal: AbortSignal,
): Promise<string | undefined> {
  const about = {
    "involvedObject.kind": kind,
    "involvedObject.name": name,
    "involvedObject.uid": uid,
  };
  const fields = Object.entries({ ...about, reason: "FailedCreate" });
  const fieldSelector = fields.map(([field, value]) => `${field}=${value}`).join(",");
  const ref = {
    resource: events,
    ...(namespace === undefined ? {} : { namespace }),
    fieldSelector,
  };
  const { items } = await client.list(ref, {}, signal);
  const last = items.toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0];
  const message = last?.["message"];
  return typeof message === "string" ? causeOfRefusal(message) : undefined;
}

function timeOf(event: KubeObject): string {
  const time = event["lastTimestamp"] ?? event["eventTime"];
  return typeof time === "string" ? time : (event.metadata.creationTimestamp ?? "");
}

/** The labels that a workload selects its pods by; expressions only narrow that down and are left out. */
function selectorOf(workload: KubeObject): string {
  const spec = workload["spec"];
  const selector = isRecord(spec) ? spec["selector"] : undefined;
  const labels = isRecord(selector) ? selector["matchLabels"] : undefined;
  return Object.entries(isRecord(labels) ? labels : {})
    .map(([label, value]) => `${label}=${String(value)}`)
    .join(",");
}
