import { beforeEach, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { CollectionRef, KubeClient } from "../../../access/kube/kube-client.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { WorkloadCauses } from "../../../controller/observe/visible-readiness.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";

const { signal } = new AbortController();
const pullError = "image a cannot be pulled (ImagePullBackOff)";
let clock: FakeClock;
let view: AbortController;
let causes: WorkloadCauses;
/** What was listed, and what a list answers. */
let asked: CollectionRef[];
let answer: (ref: CollectionRef) => readonly KubeObject[] | Promise<readonly KubeObject[]>;

beforeEach(() => {
  clock = new FakeClock();
  view = new AbortController();
  causes = new WorkloadCauses(view.signal);
  asked = [];
  answer = () => [failingPod];
});

const client: Pick<KubeClient, "list"> = {
  list: async (ref, _options, until) => {
    asked.push(ref);
    const items = await abortable(Promise.resolve(answer(ref)), until);
    return { items, resourceVersion: "1" };
  },
};

function named(kind: string, name: string, fields: object): KubeObject {
  const metadata = { namespace: "ns", name, uid: `uid-of-${name}`, resourceVersion: "1" };
  return { apiVersion: kind === "Deployment" ? "apps/v1" : "v1", kind, metadata, ...fields };
}

const failingPod = named("Pod", "a-1", {
  status: { containerStatuses: [{ image: "a", state: { waiting: { reason: "ErrImagePull" } } }] },
});

function workload(name: string, kind = "Deployment"): KubeObject {
  const selector = { matchLabels: { app: name, role: "x" } };
  return { ...named(kind, name, { spec: { selector } }), apiVersion: "apps/v1" };
}

async function causesOf(...workloads: readonly KubeObject[]): Promise<readonly string[]> {
  const found = await causes.find(workloads, { client, clock, log: silentLog }, signal);
  return workloads.map((one) => found.get(objectId(keyOf(one))) ?? "");
}

test("a workload that just began to wait costs no request", async () => {
  expect(await causesOf(workload("a"))).toEqual([""]);
  await clock.advance(4_900);
  expect(await causesOf(workload("a"))).toEqual([""]);
  expect(asked).toEqual([]);
});

test("after 5 s its pods are listed, and then after 10, 20 s and so on up to 5 minutes", async () => {
  await causesOf(workload("a"));
  let seconds = 0;
  const times: number[] = [];
  while (seconds < 1_000) {
    await clock.advance(1_000);
    seconds += 1;
    const before = asked.length;
    expect(await causesOf(workload("a"))).toEqual([seconds < 5 ? "" : pullError]);
    if (asked.length > before) times.push(seconds);
  }
  expect(times).toEqual([5, 15, 35, 75, 155, 315, 615, 915]);
  expect(asked[0]).toMatchObject({
    resource: { plural: "pods" },
    namespace: "ns",
    labelSelector: "app=a,role=x",
  });
});

test("of many that wait five are looked at in one go", async () => {
  const many = Array.from({ length: 12 }, (_, index) => workload(`w${index}`));
  await causesOf(...many);
  await clock.advance(5_000);
  for (const count of [5, 10, 12, 12]) {
    await causesOf(...many);
    expect(asked).toHaveLength(count);
  }
});

test("a workload that became available is forgotten", async () => {
  await causesOf(workload("a"));
  await clock.advance(5_000);
  expect(await causesOf(workload("a"))).toEqual([pullError]);
  await causesOf();
  expect(await causesOf(workload("a"))).toEqual([""]);
});

/** The server answers each list with this error from now on. */
function failWith(status: number): void {
  const request = "GET /api/v1/namespaces/ns/pods";
  const facts = { status, reason: "", message: "", causes: [], isStatus: true, request };
  answer = () => {
    throw new ApiError(facts);
  };
}

test("a cluster that fails is asked again after 10 s, and nothing fails", async () => {
  failWith(500);
  await causesOf(workload("a"));
  await clock.advance(5_000);
  expect(await causesOf(workload("a"))).toEqual([""]);
  answer = () => [failingPod];
  await clock.advance(10_000);
  expect(await causesOf(workload("a"))).toEqual([pullError]);
});

test("a cluster that does not allow it is not asked again for 5 minutes, and nothing fails", async () => {
  failWith(403);
  await causesOf(workload("a"));
  await clock.advance(5_000);
  expect(await causesOf(workload("a"))).toEqual([""]);
  await clock.advance(299_000);
  await causesOf(workload("a"));
  expect(asked).toHaveLength(1);
});

test("Events tell why a StatefulSet has no pods", async () => {
  const message =
    'create Pod a-0 failed: pods "a-0" is forbidden: exceeded quota: small, requested';
  answer = ({ resource }) =>
    resource.kind === "Event" ? [named("Event", "e", { message, lastTimestamp: "2026" })] : [];
  await causesOf(workload("a", "StatefulSet"));
  await clock.advance(5_000);
  expect(await causesOf(workload("a", "StatefulSet"))).toEqual(["quota small is exhausted"]);
  expect(asked[1]?.fieldSelector).toBe(
    "involvedObject.kind=StatefulSet,involvedObject.name=a,involvedObject.uid=uid-of-a,reason=FailedCreate",
  );
});

test("pods tell more than Events, which are not asked for then", async () => {
  await causesOf(workload("a", "StatefulSet"));
  await clock.advance(5_000);
  expect(await causesOf(workload("a", "StatefulSet"))).toEqual([pullError]);
  expect(asked).toHaveLength(1);
});

test("a workload without labels to select by is not asked for, which would be everybody's pods", async () => {
  const bare = named("Deployment", "bare", { spec: {} });
  await causesOf(bare);
  await clock.advance(5_000);
  await causesOf(bare);
  expect(asked).toEqual([]);
});

/** Lets the server take so long for each list from now on. */
function slowBy(ms: number): void {
  answer = () =>
    new Promise((resolve) => {
      clock.after(ms, () => resolve([failingPod]));
    });
}

/** What is known when nobody waits any longer, and how long that took. */
async function waitedFor(...workloads: readonly KubeObject[]) {
  const began = clock.now();
  let endedAt = Infinity;
  const looking = causesOf(...workloads).finally(() => {
    endedAt = clock.now();
  });
  await clock.advance(3_000);
  return { known: await looking, ms: endedAt - began };
}

test("an answer that takes 5 s is not waited for, and is known when it comes without another question", async () => {
  slowBy(5_000);
  await causesOf(workload("a"));
  await clock.advance(5_000);
  expect(await waitedFor(workload("a"))).toEqual({ known: [""], ms: 3_000 });
  expect(await causesOf(workload("a"))).toEqual([""]);
  await clock.advance(2_000);
  expect(await causesOf(workload("a"))).toEqual([pullError]);
  expect(asked).toHaveLength(1);
});

test("five questions at most have no answer at the same time, one of each workload", async () => {
  slowBy(3_600_000);
  const many = Array.from({ length: 12 }, (_, index) => workload(`w${index}`));
  await causesOf(...many);
  await clock.advance(5_000);
  await waitedFor(...many);
  await clock.advance(600_000);
  await causesOf(...many);
  // Forgotten in between, which takes nothing back that was asked.
  await causesOf();
  await causesOf(...many);
  await clock.advance(5_000);
  await causesOf(...many);
  expect(asked).toHaveLength(5);
});

test("what has no answer ends with the view, and nothing fails", async () => {
  slowBy(3_600_000);
  await causesOf(workload("a"));
  await clock.advance(5_000);
  await waitedFor(workload("a"));
  view.abort(new Error("The view is closed"));
  await settled();
  await clock.advance(60_000);
  // There is room for another question again.
  await waitedFor(workload("a"));
  expect(asked).toHaveLength(2);
});
