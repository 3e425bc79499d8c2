import { describe, expect, test } from "vitest";

import { delay } from "../../../../access/time/clock.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { anchorsBefore } from "../../../../controller/apply/anchor/list-anchors.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const { signal } = new AbortController();
const wayMs = 50;

function anchorWith(uid: string, resourceVersion: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: uid, uid, resourceVersion },
  };
}

const own = anchorWith("own", "100");
const older = anchorWith("older", "99");
const before = anchorWith("before", "9");

interface Asked {
  /** What is there while the anchor is made. */
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
  const end = anchorsBefore(born, { client, clock, isFar }, signal).then((anchors) => ({
    anchors: anchors.map(({ metadata }) => metadata.uid),
    questions,
    tookMs: clock.now(),
  }));
  end.catch(() => undefined);
  await clock.advance(10 * wayMs);
  return end;
}

describe("what was there before an anchor that is being made far away", () => {
  test("is asked without waiting for the answer to that, and once when it is told", async () => {
    await expect(asked({ listed: [older, own] })).resolves.toEqual({
      anchors: ["older"],
      questions: ["now"],
      tookMs: 80,
    });
    await expect(asked({ listed: [own] })).resolves.toMatchObject({
      anchors: [],
      questions: ["now"],
    });
  });

  test.each([
    { told: "what was there before it was made", listed: [older] },
    { told: "one that was made or written since", listed: [own, anchorWith("later", "101")] },
    { told: "versions that have no order", listed: [own, anchorWith("unordered", "v9")] },
  ])("is asked again when one is told $told", async ({ listed }) => {
    await expect(asked({ listed })).resolves.toEqual({
      anchors: ["before"],
      questions: ["now", "back then"],
      tookMs: 130,
    });
  });

  test("is asked when it was made, where that is known soon", async () => {
    const making = (clock: FakeClock) => delay(clock, 10, signal).then(() => own);
    await expect(asked({ listed: [own], making })).resolves.toEqual({
      anchors: ["before"],
      questions: ["back then"],
      tookMs: 60,
    });
  });

  test("is not asked when it could not be made", async () => {
    const failure = new Error("No room in its etcd");
    await expect(asked({ making: () => Promise.reject(failure) })).rejects.toBe(failure);
  });
});

test("what was there before an anchor in the neighbourhood is asked when it was made", async () => {
  await expect(asked({ listed: [own], isFar: false })).resolves.toEqual({
    anchors: ["before"],
    questions: ["back then"],
    tookMs: 100,
  });
});
