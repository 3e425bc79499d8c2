import { expect, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { FailedJobs, takeUntold } from "../../../controller/observe/failed-jobs.ts";
import { nextOf } from "../../../controller/reconcile/report.ts";
import { failedJobsEvent } from "../../../controller/status/component-events.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { serving } from "../../support/component.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { apiError, observeScripted, ScriptedWatches } from "./scripted-watches.ts";

const { signal } = new AbortController();
const now = new Date("2026-02-03T04:05:06Z");
const done = ["f:completionTime", "f:conditions", "f:succeeded"];
const ended = ["f:conditions", "f:failed", "f:startTime"];
const failed = { type: "Failed", status: "True", reason: "BackoffLimitExceeded", message: "x" };

interface JobOptions {
  readonly uid?: string;
  readonly conditions?: readonly object[];
}

/** A Job of which these fields of its status were written. */
function job(version: number, fields: readonly string[], options: JobOptions = {}): KubeObject {
  const { uid = "migrate", conditions = [] } = options;
  const fieldsV1 = { "f:status": Object.fromEntries(fields.map((field) => [field, {}])) };
  const managedFields = [{ manager: "kcm", operation: "Update", subresource: "status", fieldsV1 }];
  const metadata = { namespace: "eventing", name: "migrate", uid, managedFields };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { ...metadata, resourceVersion: String(version) },
    status: { conditions },
  };
}

function seen(object: KubeObject) {
  const record = observedObject(object, "knfleet-hub");
  return new Map([[objectId(record.key), record]]);
}

/** Looks at a cluster in a row, and counts the requests of each; `before`: what was said of Jobs. */
function looker(before: string) {
  const jobs = new FailedJobs(signal);
  let requests = 0;
  return async (object: KubeObject, answer: () => KubeObject | undefined = () => object) => {
    const earlier = requests;
    const get: KubeClient["get"] = () => {
      requests += 1;
      return new Promise((resolve) => {
        resolve(answer());
      });
    };
    const config = { apiVersion: "v1", kind: "ConfigMap", namespace: "eventing", name: "migrate" };
    const deps = { client: { get }, clock: new FakeClock(), log: silentLog };
    const asking = { ...deps, observed: seen(object), said: before };
    const found = await jobs.findFailed([config, keyOf(object)], asking, signal);
    return { ...found, requests: requests - earlier };
  };
}

/** What looks in a row have cost, and what they tell of a Job. */
function onlooker(before = "") {
  const look = looker(before);
  return async (...question: Parameters<typeof look>): Promise<readonly unknown[]> => {
    const { requests, failedJobs, hasUnsureJobs } = await look(...question);
    return [requests, failedJobs, ...(hasUnsureJobs ? ["unsure"] : [])];
  };
}

const sentence = "Job eventing/migrate failed: BackoffLimitExceeded";

test("a Job that runs or has done its work costs no request", async () => {
  const look = onlooker();
  expect(await look(job(1, ["f:active"]))).toEqual([0, []]);
  // Between its last pod and its completion it has the condition SuccessCriteriaMet.
  expect(await look(job(2, ["f:conditions", "f:succeeded"]))).toEqual([0, []]);
  expect(await look(job(3, done))).toEqual([0, []]);
});

test("a Job that failed is asked for once", async () => {
  const look = onlooker();
  expect(await look(job(1, ended, { conditions: [failed] }))).toEqual([1, [sentence]]);
  expect(await look(job(1, ended, { conditions: [failed] }))).toEqual([0, [sentence]]);
  expect(await look(job(2, ended, { conditions: [failed] }))).toEqual([0, [sentence]]);
  expect(await look(job(3, ["f:active"], { uid: "another" }))).toEqual([0, []]);
});

test("a Job that failed after a part of its pods succeeded is asked for", async () => {
  const fields = [...ended, "f:succeeded"];
  expect(await onlooker()(job(1, fields, { conditions: [failed] }))).toEqual([1, [sentence]]);
});

test("a Job that has not failed yet is asked for again when it changes", async () => {
  const look = onlooker();
  const failing = [{ type: "FailureTarget", status: "True" }];
  expect(await look(job(1, ended, { conditions: failing }))).toEqual([1, []]);
  expect(await look(job(1, ended, { conditions: failing }))).toEqual([0, []]);
  expect(await look(job(2, ended, { conditions: [failed] }))).toEqual([1, [sentence]]);
});

function refused(): never {
  throw apiError(403, "forbidden");
}

test("what a cluster refuses to tell is not asked for again, and is no failure", async () => {
  const look = onlooker();
  expect(await look(job(1, ended), refused)).toEqual([1, []]);
  expect(await look(job(1, ended), refused)).toEqual([0, []]);
});

function silent(): never {
  throw apiError(500, "etcd is away");
}

test("a Job that could not be read is read again", async () => {
  const look = onlooker();
  expect(await look(job(1, ended, { conditions: [failed] }), silent)).toEqual([1, [], "unsure"]);
  expect(await look(job(1, ended, { conditions: [failed] }))).toEqual([1, [sentence]]);
});

/** Looks in a row over one connection at a cluster that takes its time for each answer. */
function slowly(ms: number) {
  const clock = new FakeClock();
  const view = new AbortController();
  const jobs = new FailedJobs(view.signal);
  const asked: string[] = [];
  const ends: unknown[] = [];
  const looks = async (object: KubeObject, attempt: AbortSignal = signal) => {
    const get: KubeClient["get"] = async (_ref, _options, until) => {
      asked.push(object.metadata.resourceVersion);
      const answer = new Promise<KubeObject>((resolve) => {
        clock.after(ms, () => resolve(object));
      });
      return abortable(answer, until).catch((error: unknown) => {
        ends.push(error);
        throw error;
      });
    };
    const deps = { client: { get }, clock, log: silentLog, said: "" };
    const looking = jobs.findFailed([keyOf(object)], { ...deps, observed: seen(object) }, attempt);
    const found = looking.then(({ failedJobs, hasUnsureJobs }) => ({
      failedJobs,
      hasUnsureJobs,
      at: clock.now(),
    }));
    found.catch(() => undefined);
    await settled();
    return { found };
  };
  return { clock, view, asked, ends, looks };
}

const unsure = { failedJobs: [], hasUnsureJobs: true };
const sure = { failedJobs: [sentence], hasUnsureJobs: false };

test("an answer that takes 5 s is not waited for, and tells of the failure when it comes without another question", async () => {
  const { clock, asked, looks } = slowly(5_000);
  const failure = job(1, ended, { conditions: [failed] });
  const first = await looks(failure);
  await clock.advance(4_000);
  expect(await first.found).toEqual({ ...unsure, at: 3_000 });
  const second = await looks(failure);
  await clock.advance(4_000);
  expect(await second.found).toEqual({ ...sure, at: 5_000 });
  const third = await looks(failure);
  expect(await third.found).toEqual({ ...sure, at: 8_000 });
  expect(asked).toEqual(["1"]);
});

test("a Job that changes before the answer is asked for again after it", async () => {
  const { clock, asked, looks } = slowly(5_000);
  await looks(job(1, ended));
  await clock.advance(4_000);
  const failure = job(2, ended, { conditions: [failed] });
  const { found } = await looks(failure);
  await clock.advance(1_000);
  expect(await found).toEqual({ ...unsure, at: 5_000 });
  expect(asked).toEqual(["1"]);
  await looks(failure);
  await clock.advance(5_000);
  expect(await (await looks(failure)).found).toEqual({ ...sure, at: 10_000 });
  expect(asked).toEqual(["1", "2"]);
});

test("the end of an attempt ends the waiting for an answer, and not the question", async () => {
  const { clock, asked, ends, looks } = slowly(2_000);
  const failure = job(1, ended, { conditions: [failed] });
  const attempt = new AbortController();
  const { found } = await looks(failure, attempt.signal);
  const reason = new Error("The component has changed");
  attempt.abort(reason);
  await expect(found).rejects.toBe(reason);
  await clock.advance(2_000);
  expect(await (await looks(failure)).found).toEqual({ ...sure, at: 2_000 });
  expect([asked, ends]).toEqual([["1"], []]);
});

test("a question ends with the view, and nothing fails", async () => {
  const { clock, view, asked, ends, looks } = slowly(60_000);
  const failure = job(1, ended, { conditions: [failed] });
  const { found } = await looks(failure);
  const reason = new Error("The view is closed");
  view.abort(reason);
  expect(await found).toEqual({ ...unsure, at: 0 });
  await clock.advance(60_000);
  expect([asked, ends]).toEqual([["1"], [reason]]);
});

test("the sentence about a Job stays while the Job cannot be read", async () => {
  const another = "Job eventing/another failed: DeadlineExceeded";
  const look = onlooker(`150 of 150 objects applied; ${another}; ${sentence} (and 1 more)`);
  expect(await look(job(1, ended), silent)).toEqual([1, [sentence], "unsure"]);
  expect(await look(job(1, ended))).toEqual([1, []]);
  expect(await look(job(2, ["f:active"]))).toEqual([0, []]);
});

test("a Job that could not be read causes another attempt soon, also when everything else is ready", () => {
  const outcome: Outcome = { ...applied([]), hasUnsureJobs: true };
  expect(nextOf(outcome, 5_000)).toEqual({ kind: "sweep", firstMs: 5_000 });
  expect(statusOf(serving(), outcome, now)).toEqual(statusOf(serving(), applied([]), now));
});

test("a reason is a word, whatever the cluster says", async () => {
  const reason = "\u001B[31mBackoff limit";
  const [, told] = await onlooker()(job(1, ended, { conditions: [{ ...failed, reason }] }));
  expect(told).toEqual(["Job eventing/migrate failed: no reason given"]);
});

test("that a Job may have failed is reported, and that it has done its work is not", async () => {
  const watches = new ScriptedWatches();
  const changes: string[] = [];
  await using observation = observeScripted(watches, ({ kind }) => void changes.push(kind));
  observation.watchKinds([knownResource("batch/v1", "Job")]);
  watches.listed("Job", [job(1, ["f:active"])]);
  await observation.waitForSync(signal);
  watches.send("Job", { type: "MODIFIED", object: job(2, done) });
  watches.send("Job", { type: "MODIFIED", object: job(3, ended) });
  await expect.poll(() => changes).toEqual(["job"]);
});

function applied(failedJobs: readonly string[], isAvailable = true) {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: isAvailable, message: "" },
    failedJobs,
  } as const satisfies Outcome;
}

/** What is said of an installation after outcomes in a row. */
function said(...outcomes: readonly Outcome[]): readonly unknown[] {
  let status = statusOf(serving(), applied([]), now);
  for (const outcome of outcomes) status = statusOf(serving({ status }), outcome, now);
  const { status: value, message } = status.conditions?.find(isInstall) ?? {};
  return [value, message];
}

function isInstall({ type }: { readonly type: string }): boolean {
  return type === "InstallSucceeded";
}

test("a Job that failed is told in the condition as long as it is there", () => {
  expect(said(applied([sentence]))).toEqual(["True", sentence]);
  expect(said(applied([sentence]), applied([sentence]))).toEqual(["True", sentence]);
  expect(said(applied([sentence]), applied([]))).toEqual(["True", undefined]);
  expect(nextOf(applied([sentence]), 600_000)).toEqual({ kind: "done" });
});

test("a Job that fails while an installation begins is named beside the progress", () => {
  const status = statusOf(serving(), applied([sentence], false), now);
  expect(status.conditions?.find(isInstall)?.message).toBe(
    `150 of 150 objects applied; ${sentence}`,
  );
});

test("a Job that failed is told once in an Event, whatever is said or asked in between", async () => {
  const told = new Set<string>();
  const failure = job(1, ended, { conditions: [failed] });
  const news = async (answer?: () => never): Promise<readonly string[]> => {
    // With every connection it is found out anew.
    const { failures } = await looker(sentence)(failure, answer);
    return takeUntold(failures, { told, said: "" });
  };
  expect(await news(silent)).toEqual([]);
  expect(await news()).toEqual([sentence]);
  expect(await news(silent)).toEqual([]);
  expect(await news()).toEqual([]);
  expect(takeUntold(new Map([["another", sentence]]), { told, said: "" })).toEqual([sentence]);
});

test("after a restart no Job is told again that the component names", () => {
  const failures = new Map([
    ["a", sentence],
    ["b", "Job eventing/new failed: x"],
  ]);
  const told = new Set<string>();
  const message = `0 of 1 objects applied; ${sentence}`;
  expect(takeUntold(failures, { told, said: message })).toEqual(["Job eventing/new failed: x"]);
  expect(takeUntold(failures, { told, said: "" })).toEqual([]);
});

test("Jobs are remembered as told only so many", () => {
  const told = new Set(Array.from({ length: 1_000 }, (_, index) => String(index)));
  expect(
    takeUntold(
      new Map([
        ["new", "b"],
        ["newer", "a"],
        ["999", "c"],
      ]),
      { told, said: "" },
    ),
  ).toEqual(["a", "b"]);
  expect([told.size, told.has("1"), told.has("2"), told.has("newer")]).toEqual([
    1_000,
    false,
    true,
    true,
  ]);
});

test("three Jobs are named at most", () => {
  const four = ["a", "b", "c", "d"].map((name) => `Job ns/${name} failed: x`);
  const message = `${four.slice(0, 3).join("; ")} (and 1 more)`;
  expect(said(applied(four))[1]).toBe(message);
  expect(failedJobsEvent(four)).toEqual({ type: "Warning", reason: "JobFailed", message });
  expect(failedJobsEvent([])).toBeUndefined();
});
