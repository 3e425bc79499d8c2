import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { logFailure } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { abortable } from "../../access/time/deadline.ts";
import { Deadline } from "../../access/time/deadline.ts";
import { objectId } from "../../api/keys.ts";
import { describe, type KubeObject, type ObjectKey, isJob } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import { conditionFieldsOf } from "../../installation/pod-cause.ts";
import type { Log } from "../log.ts";

export interface JobDeps {
  readonly client: Pick<KubeClient, "get">;
  readonly clock: Clock;
  readonly log: Log;
}

/** The state in which `findFailed` looks for failed Jobs. */
export interface JobQuestion extends JobDeps {
  readonly observed: ReadonlyMap<string, ObservedObject>;
  /** The message about Jobs in the status of the component. */
  readonly said: string;
}

export interface JobFindings {
  /** A sentence for each live Job that has failed, sorted. For a Job that cannot be read now, its sentence in the status. */
  readonly failedJobs: readonly string[];
  /** The sentences that are certainly true now, by the uid of the Job. */
  readonly failures: ReadonlyMap<string, string>;
  /** Some Jobs could not be read now. */
  readonly hasUnsureJobs: boolean;
}

interface JobCheck {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Why the Job failed. Undefined: it did not. */
  readonly failure: string | undefined;
}

const limitMs = 3_000;
const maxToldUids = 1_000;
const reasonPattern = /^[A-Za-z]\w{0,60}$/;
const noReason = "no reason given";

/**
 * Finds out which Jobs have failed. Reads each Job whose metadata says that it may have failed: once for each change, until it is known to have failed,
 * and again when the read failed. A late answer counts for the next call.
 */
export class FailedJobs {
  readonly #checks = new Map<string, JobCheck>();
  /** Reads without an answer yet, by the identity of the Job. */
  readonly #open = new Map<string, Promise<void>>();
  readonly #signal: AbortSignal;

  /** `signal` ends late reads. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Finds the desired Jobs that have failed. Takes 3 s at most. Rejects only with the reason of the signal. */
  async findFailed(
    desired: readonly ObjectKey[],
    { observed, said, ...deps }: JobQuestion,
    signal: AbortSignal,
  ): Promise<JobFindings> {
    const suspects = desired
      .filter(isJob)
      .flatMap((key) => observed.get(objectId(key)) ?? [])
      .filter(({ mayHaveFailed, deleting }) => mayHaveFailed === true && !deleting);
    const ids = new Set(suspects.map(({ key }) => objectId(key)));
    for (const id of this.#checks.keys()) if (!ids.has(id)) this.#checks.delete(id);
    const unknown = suspects.filter((one) => !this.#isKnown(one));
    if (unknown.length > 0) {
      using bounded = new Deadline(deps.clock, limitMs, signal);
      const checks = Promise.all(unknown.map((one) => this.#checkOnce(one, deps)));
      await abortable(checks, bounded.signal).catch(() => undefined);
      signal.throwIfAborted();
    }
    const unsure = suspects.filter((one) => !this.#isKnown(one));
    const failures = new Map(suspects.flatMap((one) => this.#failureOf(one)));
    const kept = unsure.flatMap(({ key }) => sentenceIn(said, key) ?? []);
    const failedJobs = [...failures.values(), ...kept].toSorted();
    return { failedJobs, failures, hasUnsureJobs: unsure.length > 0 };
  }

  #failureOf(one: ObservedObject): readonly (readonly [uid: string, sentence: string])[] {
    const failure = this.#isKnown(one) ? this.#checks.get(objectId(one.key))?.failure : undefined;
    return failure === undefined ? [] : [[one.uid, sentenceOf(one.key, failure)]];
  }

  /** A failed Job stays failed, whatever else changes. */
  #isKnown({ key, uid, resourceVersion }: ObservedObject): boolean {
    const check = this.#checks.get(objectId(key));
    if (check?.uid !== uid) return false;
    return check.failure !== undefined || check.resourceVersion === resourceVersion;
  }

  /** Checks a Job, or waits for the check that is already running. */
  #checkOnce(one: ObservedObject, deps: Pick<JobDeps, "client" | "log">): Promise<void> {
    const id = objectId(one.key);
    const check = this.#open.get(id) ?? this.#check(one, deps).finally(() => this.#open.delete(id));
    this.#open.set(id, check);
    return check;
  }

  /** Never rejects. */
  async #check(
    { key, uid, resourceVersion }: ObservedObject,
    { client, log }: Pick<JobDeps, "client" | "log">,
  ): Promise<void> {
    const { namespace = "", name } = key;
    const ref = { resource: knownResource("batch/v1", "Job"), namespace, name };
    const seen = { uid, resourceVersion };
    try {
      const job = await client.get(ref, {}, this.#signal);
      const failure = job?.metadata.uid === uid ? failureOf(job) : undefined;
      this.#checks.set(objectId(key), { ...seen, failure });
    } catch (err) {
      // Without the right to read the Job, do not ask again before it changes.
      const isRefused = err instanceof ApiError && err.status === 403;
      if (isRefused) this.#checks.set(objectId(key), { ...seen, failure: undefined });
      logFailure(log, "debug", { job: describe(key), err }, "Could not ask whether a Job failed");
    }
  }
}

/**
 * Returns the sentences of failures that were not told before, sorted, and marks them as told. `told`: uids of the Jobs, 1,000 at most. `said`: the
 * message about Jobs in the status, which shows what an earlier process told.
 */
export function takeUntold(
  failures: JobFindings["failures"],
  { told, said }: { readonly told: Set<string>; readonly said: string },
): readonly string[] {
  const untold = [...failures].filter(([uid]) => !told.has(uid));
  for (const [uid] of untold) told.add(uid);
  for (const uid of [...told].slice(0, -maxToldUids)) told.delete(uid);
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

/** The sentence about one Job in the message about Jobs. */
function sentenceIn(said: string, key: ObjectKey): string | undefined {
  const prefix = RegExp.escape(sentenceOf(key, ""));
  return new RegExp(`${prefix}(?:${noReason}|\\w+)`).exec(said)?.[0];
}
