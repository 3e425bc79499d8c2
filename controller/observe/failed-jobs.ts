import { abortable } from "../../access/deadline.ts";
import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import {
  describe,
  identityOf,
  type KubeObject,
  type ObjectKey,
  isJob,
} from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import { conditionFieldsOf } from "../../installation/pod-cause.ts";
import type { Log } from "../log.ts";
import { type Clock, limited } from "../queue/clock.ts";

export interface JobDeps {
  readonly client: Pick<KubeClient, "get">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface JobQuestion extends JobDeps {
  readonly observed: ReadonlyMap<string, ObservedObject>;
  /** What the component says of Jobs already. */
  readonly said: string;
}

export interface JobFindings {
  /** A sentence for each Job that is there and has failed, in the order of names; of one that nobody can tell of now, the one that was said before. */
  readonly failedJobs: readonly string[];
  /** The sentences that are known to be true now, by the uid of the Job. */
  readonly failures: ReadonlyMap<string, string>;
  /** Of some it could not be found out now. */
  readonly hasUnsureJobs: boolean;
}

interface Look {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Why it failed; undefined: it did not. */
  readonly failure: string | undefined;
}

const limitMs = 3_000;
const mostTold = 1_000;
const reasonPattern = /^[A-Za-z]\w{0,60}$/;
const noReason = "no reason given";

/**
 * Finds out which Jobs have failed: of each that may have, by its metadata, one GET for each change of it until it is known to have failed, another one
 * with the next question when that failed, and none of others. An answer that takes longer than anybody waits for it counts when it comes.
 */
export class FailedJobs {
  readonly #looks = new Map<string, Look>();
  /** Requests that have no answer yet, by the identity of the Job. */
  readonly #open = new Map<string, Promise<void>>();
  readonly #signal: AbortSignal;

  /** `signal` ends what nobody waits for any more. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Which of the desired Jobs have failed. Takes 3 s at most, and rejects with the reason of the signal only. */
  async among(
    desired: readonly ObjectKey[],
    { observed, said, ...deps }: JobQuestion,
    signal: AbortSignal,
  ): Promise<JobFindings> {
    const suspects = desired
      .filter(isJob)
      .flatMap((key) => observed.get(identityOf(key)) ?? [])
      .filter(({ mayHaveFailed, deleting }) => mayHaveFailed === true && !deleting);
    const ids = new Set(suspects.map(({ key }) => identityOf(key)));
    for (const id of this.#looks.keys()) if (!ids.has(id)) this.#looks.delete(id);
    const unknown = suspects.filter((one) => !this.#isKnown(one));
    if (unknown.length > 0) {
      using bounded = limited(deps.clock, limitMs, signal);
      const looks = Promise.all(unknown.map((one) => this.#asked(one, deps)));
      await abortable(looks, bounded.signal).catch(() => undefined);
      signal.throwIfAborted();
    }
    const unsure = suspects.filter((one) => !this.#isKnown(one));
    const failures = new Map(suspects.flatMap((one) => this.#failureOf(one)));
    const kept = unsure.flatMap(({ key }) => sentenceIn(said, key) ?? []);
    const failedJobs = [...failures.values(), ...kept].toSorted();
    return { failedJobs, failures, hasUnsureJobs: unsure.length > 0 };
  }

  #failureOf(one: ObservedObject): readonly (readonly [uid: string, sentence: string])[] {
    const failure = this.#isKnown(one) ? this.#looks.get(identityOf(one.key))?.failure : undefined;
    return failure === undefined ? [] : [[one.uid, sentenceOf(one.key, failure)]];
  }

  /** A Job that failed does not run again. */
  #isKnown({ key, uid, resourceVersion }: ObservedObject): boolean {
    const look = this.#looks.get(identityOf(key));
    if (look?.uid !== uid) return false;
    return look.failure !== undefined || look.resourceVersion === resourceVersion;
  }

  /** Resolves with the answer; asks unless that is done already. */
  #asked(one: ObservedObject, deps: Pick<JobDeps, "client" | "log">): Promise<void> {
    const id = identityOf(one.key);
    const asked = this.#open.get(id) ?? this.#look(one, deps).finally(() => this.#open.delete(id));
    this.#open.set(id, asked);
    return asked;
  }

  /** Never rejects. */
  async #look(
    { key, uid, resourceVersion }: ObservedObject,
    { client, log }: Pick<JobDeps, "client" | "log">,
  ): Promise<void> {
    const { namespace = "", name } = key;
    const ref = { resource: knownResource("batch/v1", "Job"), namespace, name };
    const seen = { uid, resourceVersion };
    try {
      const job = await client.get(ref, {}, this.#signal);
      const failure = job?.metadata.uid === uid ? failureOf(job) : undefined;
      this.#looks.set(identityOf(key), { ...seen, failure });
    } catch (err) {
      // Who may not look does not ask again before the Job changes.
      const isRefused = err instanceof ApiError && err.status === 403;
      if (isRefused) this.#looks.set(identityOf(key), { ...seen, failure: undefined });
      log.debug({ job: describe(key), err }, "Could not ask whether a Job failed");
    }
  }
}

/**
 * Those of the failures of which nobody was told yet, sorted; they count as told from now on. `told` has uids, and so many at most; `said` is what the component
 * says of Jobs, which is all that is known of what an earlier process told.
 */
export function newsOf(
  failures: JobFindings["failures"],
  { told, said }: { readonly told: Set<string>; readonly said: string },
): readonly string[] {
  const untold = [...failures].filter(([uid]) => !told.has(uid));
  for (const [uid] of untold) told.add(uid);
  for (const uid of [...told].slice(0, -mostTold)) told.delete(uid);
  const sentences = untold.map(([, sentence]) => sentence);
  return sentences.filter((sentence) => !said.includes(sentence)).toSorted();
}

function failureOf(job: KubeObject): string | undefined {
  const failed = conditionFieldsOf(job, "Failed");
  if (failed?.["status"] !== "True") return undefined;
  const { reason } = failed;
  return typeof reason === "string" && reasonPattern.test(reason) ? reason : noReason;
}

function sentenceOf(key: ObjectKey, failure: string): string {
  return `${describe(key)} failed: ${failure}`;
}

/** The sentence about one Job among all that is said. */
function sentenceIn(said: string, key: ObjectKey): string | undefined {
  const beginning = RegExp.escape(sentenceOf(key, ""));
  return new RegExp(`${beginning}(?:${noReason}|\\w+)`).exec(said)?.[0];
}
