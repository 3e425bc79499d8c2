import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { delay } from "../../../controller/queue/clock.ts";
import { rootsBefore } from "../../../controller/reconcile/earlier-roots.ts";
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
  const end = rootsBefore(born, { client, clock, isFar }, signal).then((roots) => ({
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
