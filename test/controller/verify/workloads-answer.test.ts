import { expect, test } from "vitest";

import { workloadsAnswer } from "../../../controller/verify/workloads-answer.ts";
import type { UserWorkload } from "../../../installation/user-workloads.ts";

function workload(kind: string, name: string, more: Partial<UserWorkload> = {}): UserWorkload {
  return {
    kind,
    namespace: "shop",
    name,
    labels: {},
    createdAt: 1_000,
    ready: "True",
    reason: "",
    message: "",
    since: 2_000,
    isObserved: true,
    changedAt: undefined,
    ...more,
  };
}

const broken = { ready: "False", reason: "Gone", since: 9_000 } as const;
const all = [
  workload("Service", "a"),
  workload("Service", "b", broken),
  workload("PingSource", "c"),
  workload("A lie of the cluster", "d", { ready: "Unknown" }),
];

test("what broke since then is named, unless that many may", () => {
  expect(workloadsAnswer(all, { maxNewlyBroken: 0 }, 5_000)).toMatchObject({
    kind: "bad",
    message: "1 of 4 broke since the cluster got the revision: Service shop/b (Gone)",
  });
  expect(workloadsAnswer(all, { maxNewlyBroken: 1 }, 5_000)).toMatchObject({ kind: "good" });
  expect(workloadsAnswer(all, { maxNewlyBroken: 0 }, 10_500)).toMatchObject({ kind: "good" });
  const ignore = { namespaces: ["sh*"] };
  expect(workloadsAnswer(all, { maxNewlyBroken: 0, ignore }, 5_000)).toMatchObject({
    kind: "good",
  });
});

test("all are counted by kind; kinds that are not Knative's own are sources", () => {
  const { counted } = workloadsAnswer(all, { maxNewlyBroken: 0 }, 10_500);
  expect(Object.fromEntries(counted ?? [])).toEqual({
    Service: { ready: 1, notReady: 1 },
    Source: { ready: 1, notReady: 1 },
  });
});
