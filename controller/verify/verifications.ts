import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Spokes } from "../../access/spokes/spokes.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import { Deadline } from "../../access/time/deadline.ts";
import { Semaphore } from "../../access/time/semaphore.ts";
import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { managedClusterOf } from "../../api/delivery.ts";
import { isSameJson } from "../../api/fields.ts";
import { namespacedName } from "../../api/keys.ts";
import {
  answerAfter,
  type Answers,
  type CheckAnswer,
  type Reply,
  type Verification,
  type WorkloadCounts,
} from "../../sets/check-answer.ts";
import { isOfHub, pulledReply } from "../../sets/pulled-checks.ts";
import { type Check, checksOf, jitter, patienceOf } from "../../sets/verify.ts";
import type { Log } from "../log.ts";
import type { JobAsking, JobClient } from "./ask-job.ts";
import type { UrlAsker } from "./ask-url.ts";
import { ask } from "./ask.ts";
import type { JobPlace } from "./check-job.ts";
import { Unasked } from "./unasked.ts";

export interface VerificationsOptions {
  readonly spokes: Pick<Spokes, "acquire">;
  readonly urls: UrlAsker;
  /** Absent: no cluster is pulled. */
  readonly pulled?: {
    /** The present state of the component of a cluster. */
    readonly componentOf: (component: Component) => Component | undefined;
    /** How the Jobs of checks reach the cluster of a component. Rejects with a failure that says what keeps them. */
    readonly jobsOf: (component: Component, signal: AbortSignal) => Promise<PulledJobs>;
  };
  /** Called when a cluster is not asked any more. */
  readonly onUnused: (profile: ClusterProfileRef) => void;
  /** An answer has changed about a cluster of a set, by `setKeyOf`. */
  readonly onAnswer: (set: string) => void;
  readonly clock: Clock;
  /** 0 to 1, for the jitter of the intervals. */
  readonly random: () => number;
  readonly log: Log;
}

interface PulledJobs {
  readonly client: JobClient;
  readonly place: JobPlace;
}

/** What a set asks about one cluster, for one check. */
interface CheckAsking extends Verification, Pick<JobAsking, "seen" | "mayRun"> {
  /** Absent until a Job is asked for. */
  pulledJobs?: PulledJobs;
}

/** What a set asks about one cluster, while it is asked. */
interface Asking extends Verification {
  readonly askedSince: number;
  readonly checks: Map<string, CheckAnswer>;
  /** Its workloads, when they were last read. */
  counted?: WorkloadCounts;
  readonly stop: AbortController;
}

// An answer that is in memory costs nothing to look at.
const toldMs = 2_000;
// Whoever makes their servers hang delays their own checks.
const asksAtOnce = { ofNamespace: 8, all: 64 };

/**
 * Asks clusters what the sets of a fleet want to know of them, each check at its interval, and keeps the answers in memory. Ends with the process that rolls sets out: the next one asks
 * again. Spec: verify.md 2.
 */
export class Verifications implements Disposable {
  readonly #options: VerificationsOptions;
  readonly #places = new Semaphore(asksAtOnce.all);
  /** By the namespace of the set. */
  readonly #ownPlaces = new Map<string, Semaphore>();
  /** By the key of the set, and then by `namespace/name` of the ClusterProfile. */
  readonly #bySet = new Map<string, Map<string, Asking>>();

  constructor(options: VerificationsOptions) {
    this.#options = options;
  }

  /** The answers that a set has. */
  answersOf(set: string): Answers {
    return this.#bySet.get(set) ?? new Map();
  }

  /** The workloads of all clusters that are asked about them, each cluster once. */
  workloads(): WorkloadCounts {
    const clusters = new Map<string, WorkloadCounts>();
    for (const askings of this.#bySet.values()) {
      for (const [cluster, { counted }] of askings) {
        if (counted !== undefined) clusters.set(cluster, counted);
      }
    }
    const sums = new Map<string, { ready: number; notReady: number }>();
    for (const [kind, { ready, notReady }] of [...clusters.values()].flatMap((one) => [...one])) {
      const sum = sums.get(kind) ?? { ready: 0, notReady: 0 };
      sums.set(kind, { ready: sum.ready + ready, notReady: sum.notReady + notReady });
    }
    return sums;
  }

  /** Asks exactly this about the clusters of a set from now on. What is asked already goes on. */
  ask(set: string, verifications: readonly Verification[]): void {
    const before = this.#bySet.get(set) ?? new Map<string, Asking>();
    const now = new Map<string, Asking>();
    for (const verification of verifications) {
      const known = before.get(verification.cluster);
      const isSame = known !== undefined && isOpenQuestion(known, verification);
      now.set(verification.cluster, isSame ? known : this.#begin(set, verification));
    }
    for (const [cluster, asking] of before) {
      if (now.get(cluster) === asking) continue;
      asking.stop.abort(new DOMException("The cluster is not asked any more", "AbortError"));
      if (!now.has(cluster)) this.#options.onUnused(namespacedName(cluster));
    }
    if (now.size === 0) this.#bySet.delete(set);
    else this.#bySet.set(set, now);
  }

  [Symbol.dispose](): void {
    for (const set of this.#bySet.keys()) this.ask(set, []);
  }

  #begin(set: string, verification: Verification): Asking {
    const asking: Asking = {
      ...verification,
      askedSince: this.#options.clock.date().getTime(),
      checks: new Map(),
      stop: new AbortController(),
    };
    for (const check of checksOf(verification.spec)) void this.#keepAsking(set, asking, check);
    return asking;
  }

  /** Never rejects. */
  async #keepAsking(set: string, asking: Asking, check: Check): Promise<void> {
    const { clock, random, log } = this.#options;
    const { signal } = asking.stop;
    const jobs: CheckAsking = { ...asking, seen: {}, mayRun: true };
    try {
      while (!signal.aborted) {
        const reply = await this.#ask(jobs, check, signal);
        if (this.#note(asking, check, reply)) this.#options.onAnswer(set);
        if (reply.isFinal === true) return;
        const pauseMs = this.#isTold(asking, check) ? toldMs : check.intervalMs;
        await delay(clock, pauseMs * (1 - jitter + 2 * jitter * random()), signal);
      }
    } catch (err) {
      if (signal.aborted) return;
      log.error({ set, check: check.name, err }, "A check of a rollout has a bug");
    }
  }

  async #ask(verification: CheckAsking, check: Check, signal: AbortSignal): Promise<Reply> {
    const { spokes, urls, clock, log } = this.#options;
    if (this.#isTold(verification, check)) return this.#told(verification, check);
    using _place = await this.#place(verification.set.namespace, signal);
    using limit = new Deadline(clock, check.limitMs, signal);
    const clientOf = async (): Promise<KubeClient> =>
      (await spokes.acquire(namespacedName(verification.cluster), limit.signal)).client;
    const jobClientOf = (): Promise<JobClient> =>
      this.#isPulled(verification) ? this.#pulledJobs(verification, limit.signal) : clientOf();
    try {
      const jobs = { ...verification, clientOf: jobClientOf };
      return await ask(check, verification, { clientOf, urls, jobs }, limit.signal);
    } catch (err) {
      signal.throwIfAborted();
      if (limit.signal.aborted) {
        return { kind: "unasked", message: `no answer came within ${check.limitMs / 1_000} s` };
      }
      log.error({ cluster: verification.cluster, check: check.name, err }, "Internal error");
      return { kind: "unasked", message: "internal error, see the log of the controller" };
    }
  }

  /** Whether the controller on a pulled cluster asks a check, and the status of its component has the answer. */
  #isTold(verification: Verification, check: Check): boolean {
    return this.#isPulled(verification) && !isOfHub(check);
  }

  #isPulled({ component }: Verification): boolean {
    return this.#options.pulled !== undefined && managedClusterOf(component) !== undefined;
  }

  #told(verification: Verification, check: Check): Reply {
    const { component } = verification;
    const present = this.#options.pulled?.componentOf(component) ?? component;
    return pulledReply(present, verification, check.name);
  }

  async #pulledJobs(asking: CheckAsking, signal: AbortSignal): Promise<JobClient> {
    asking.pulledJobs ??= await this.#options.pulled?.jobsOf(asking.component, signal);
    if (asking.pulledJobs === undefined) throw new Unasked("the cluster is not pulled");
    asking.seen.place = asking.pulledJobs.place;
    return asking.pulledJobs.client;
  }

  /** Waits for a place of the namespace, and then for one of all. */
  async #place(namespace: string, signal: AbortSignal): Promise<Disposable> {
    const own = this.#ownPlaces.get(namespace) ?? new Semaphore(asksAtOnce.ofNamespace);
    this.#ownPlaces.set(namespace, own);
    using places = new DisposableStack();
    places.defer(() => {
      if (own.used === 0 && !own.hasWaiting) this.#ownPlaces.delete(namespace);
    });
    places.use(await own.enter(signal));
    places.use(await this.#places.enter(signal));
    return places.move();
  }

  /** Keeps an answer. Returns whether it says something else than the last one. */
  #note(asking: Asking, check: Check, reply: Reply): boolean {
    const { checks } = asking;
    if (reply.counted !== undefined) asking.counted = reply.counted;
    const before = checks.get(check.name);
    const now = this.#options.clock.date().getTime();
    checks.set(check.name, answerAfter(before, reply, { now, patienceMs: patienceOf(check) }));
    return before?.kind !== reply.kind || before.message !== reply.message;
  }
}

/** Whether what is asked goes on. Somebody who asks to try again has what is not good asked anew. */
function isOpenQuestion(known: Asking, verification: Verification): boolean {
  if (!isSameQuestion(known, verification)) return false;
  const isGood = [...known.checks.values()].every(({ kind }) => kind === "good");
  return isGood || known.retriedAt === verification.retriedAt;
}

function isSameQuestion(one: Verification, other: Verification): boolean {
  const { stamp, stage, spec, component } = one;
  // A component that is handed from works to the hub, or back, is asked in another way.
  const isSameWay = managedClusterOf(component) === managedClusterOf(other.component);
  return (
    isSameWay && stamp === other.stamp && stage === other.stage && isSameJson(spec, other.spec)
  );
}
