import { describe, expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { delay } from "../../../controller/queue/clock.ts";
import { anchorsBefore, ClusterVersions } from "../../../controller/reconcile/cluster-facts.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const { signal } = new AbortController();
const wayMs = 50;

function rootOf(uid: string, resourceVersion: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: uid, uid, resourceVersion },
  };
}

const own = rootOf("own", "100");
const older = rootOf("older", "99");
const before = rootOf("before", "9");

interface Asked {
  /** What is there while the root is made. */
  readonly listed?: readonly KubeObject[];
  readonly isFar?: boolean;
  readonly making?: (clock: FakeClock) => Promise<KubeObject>;
}

/** Uids of what was there before, how often it was asked, and how long that took; every answer takes as long as the making. */
async function asked({ listed = [], isFar = true, making }: Asked) {
  const clock = new FakeClock();
  const questions: string[] = [];
  const answered = async <T>(question: string, answer: T): Promise<T> => {
    questions.push(question);
    await delay(clock, wayMs, signal);
    return answer;
  };
  const client = {
    list: () => answered("now", { items: listed, resourceVersion: "1" }),
    request: () => answered("back then", { items: [before] }),
  };
  const made = making?.(clock) ?? delay(clock, wayMs, signal).then(() => own);
  const born = made.then(({ metadata }) => metadata);
  const end = anchorsBefore(born, { client, clock, isFar }, signal).then((roots) => ({
    roots: roots.map(({ metadata }) => metadata.uid),
    questions,
    tookMs: clock.now(),
  }));
  end.catch(() => undefined);
  await clock.advance(10 * wayMs);
  return end;
}

describe("what was there before a root that is being made far away", () => {
  test("is asked without waiting for the answer to that, and once when it is told", async () => {
    await expect(asked({ listed: [older, own] })).resolves.toEqual({
      roots: ["older"],
      questions: ["now"],
      tookMs: 80,
    });
    await expect(asked({ listed: [own] })).resolves.toMatchObject({
      roots: [],
      questions: ["now"],
    });
  });

  test.each([
    { told: "what was there before it was made", listed: [older] },
    { told: "one that was made or written since", listed: [own, rootOf("later", "101")] },
    { told: "versions that have no order", listed: [own, rootOf("unordered", "v9")] },
  ])("is asked again when one is told $told", async ({ listed }) => {
    await expect(asked({ listed })).resolves.toEqual({
      roots: ["before"],
      questions: ["now", "back then"],
      tookMs: 130,
    });
  });

  test("is asked when it was made, where that is known soon", async () => {
    const making = (clock: FakeClock) => delay(clock, 10, signal).then(() => own);
    await expect(asked({ listed: [own], making })).resolves.toEqual({
      roots: ["before"],
      questions: ["back then"],
      tookMs: 60,
    });
  });

  test("is not asked when it could not be made", async () => {
    const failure = new Error("No room in its etcd");
    await expect(asked({ making: () => Promise.reject(failure) })).rejects.toBe(failure);
  });
});

test("what was there before a root in the neighbourhood is asked when it was made", async () => {
  await expect(asked({ listed: [own], isFar: false })).resolves.toEqual({
    roots: ["before"],
    questions: ["back then"],
    tookMs: 100,
  });
});

function cluster(answer: () => unknown) {
  const paths: string[] = [];
  const request: KubeClient["request"] = async (_method, path) => {
    paths.push(path);
    return answer();
  };
  return { request, paths };
}

function failing(error: Error) {
  return cluster(() => {
    throw error;
  });
}

test("a cluster is asked once, until it is forgotten", async () => {
  const versions = new ClusterVersions();
  const client = cluster(() => ({ gitVersion: "v1.35.2" }));
  expect(await versions.of(client, signal)).toBe("v1.35.2");
  expect(await versions.of(client, signal)).toBe("v1.35.2");
  expect(client.paths).toEqual(["/version"]);
  versions.forget(client);
  expect(await versions.of(client, signal)).toBe("v1.35.2");
  expect(client.paths).toHaveLength(2);
});

test.each([undefined, null, "v1.35.2", {}, { gitVersion: 1 }])(
  "the answer %j tells nothing",
  async (answer) => {
    expect(
      await new ClusterVersions().of(
        cluster(() => answer),
        signal,
      ),
    ).toBeUndefined();
  },
);

function refusalOf(status: number): ApiError {
  const facts = { status, reason: "", message: "", causes: [], isStatus: true };
  return new ApiError({ ...facts, request: "GET /version" });
}

test.each([403, 404])("a cluster that answers %i does not tell", async (status) => {
  const client = failing(refusalOf(status));
  await expect(new ClusterVersions().of(client, signal)).resolves.toBeUndefined();
});

test.each([
  { name: "429", error: refusalOf(429) },
  { name: "500", error: refusalOf(500) },
  { name: "503", error: refusalOf(503) },
  {
    name: "nothing",
    error: new ConnectionError("refused", "https://a:6443 refused the connection"),
  },
])("a cluster that answers $name is to be asked again", async ({ error }) => {
  await expect(new ClusterVersions().of(failing(error), signal)).rejects.toBe(error);
});
