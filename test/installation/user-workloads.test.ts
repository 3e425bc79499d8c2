import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../api/kubernetes.ts";
import {
  isNewlyBroken,
  isReadyWorkload,
  isUserKind,
  userWorkloadOf,
  userWorkloadPart,
} from "../../installation/user-workloads.ts";

const stampedAt = Date.parse("2026-11-25T12:00:00.400Z");

interface Given {
  readonly created?: string;
  readonly status?: string;
  readonly since?: string;
  readonly observed?: number;
  readonly written?: string;
  readonly metadata?: object;
}

const at = (time: string): string => `2026-11-25T${time}Z`;

/** A Service of a team: generation 2, made at 11:00. */
function service({
  created = "11:00:00",
  status = "True",
  since = "11:00:05",
  observed = 2,
  written = "11:30:00",
  metadata = {},
}: Given): KubeObject {
  return {
    apiVersion: "serving.knative.dev/v1",
    kind: "Service",
    metadata: {
      namespace: "shop",
      name: "cart",
      uid: "1",
      resourceVersion: "1",
      generation: 2,
      creationTimestamp: at(created),
      managedFields: [
        { manager: "kubectl", time: at(written) },
        { manager: "controller", subresource: "status", time: at("12:30:00") },
      ],
      ...metadata,
    },
    spec: { template: { spec: { containers: [{ image: "x".repeat(10_000) }] } } },
    status: {
      observedGeneration: observed,
      conditions: [
        { type: "ConfigurationsReady", status: "True" },
        { type: "Ready", status, reason: "RevisionFailed", lastTransitionTime: at(since) },
      ],
    },
  };
}

function workload(given: Given) {
  const found = userWorkloadOf(userWorkloadPart(service(given)));
  if (found === undefined) throw new Error("It is no workload");
  return found;
}

test.each<{ readonly name: string; readonly given: Given; readonly isBroken: boolean }>([
  { name: "one that is ready", given: {}, isBroken: false },
  {
    name: "one that broke after the stamp",
    given: { status: "False", since: "12:00:30" },
    isBroken: true,
  },
  {
    name: "one that broke in its second",
    given: { status: "False", since: "12:00:00" },
    isBroken: true,
  },
  {
    name: "one that is unknown since then",
    given: { status: "Unknown", since: "12:01:00" },
    isBroken: true,
  },
  {
    name: "one that was broken before",
    given: { status: "False", since: "11:59:59" },
    isBroken: false,
  },
  {
    name: "one that was made after the stamp",
    given: { created: "12:00:01", status: "False", since: "12:00:02" },
    isBroken: false,
  },
  {
    name: "one whose change since then is not taken up",
    given: { observed: 1, written: "12:00:10" },
    isBroken: true,
  },
  { name: "one whose earlier change was never taken up", given: { observed: 1 }, isBroken: false },
  {
    name: "one without a condition",
    given: { metadata: {}, status: "", since: "" },
    isBroken: false,
  },
])("$name counts as newly broken: $isBroken", ({ given, isBroken }) => {
  expect(isNewlyBroken(workload(given), stampedAt)).toBe(isBroken);
});

test("an object that another controls, or that is being deleted, is no workload", () => {
  const owner = { apiVersion: "v1", kind: "Service", name: "cart", uid: "2", controller: true };
  const owned = service({ metadata: { ownerReferences: [owner] } });
  const leaving = service({ metadata: { deletionTimestamp: "2026-11-25T12:00:00Z" } });
  expect([owned, leaving].map((one) => userWorkloadOf(userWorkloadPart(one)))).toEqual([
    undefined,
    undefined,
  ]);
});

test("of an object only what is read stays, and its part says the same", () => {
  const whole = service({ status: "False" });
  const part = userWorkloadPart(whole);
  expect(userWorkloadOf(part)).toEqual(userWorkloadOf(whole));
  expect(JSON.stringify(part).length).toBeLessThan(700);
});

test("ready is what its user wants it to be", () => {
  expect(isReadyWorkload(workload({}))).toBe(true);
  expect(isReadyWorkload(workload({ observed: 1 }))).toBe(false);
  expect(isReadyWorkload(workload({ status: "Unknown" }))).toBe(false);
});

describe("a cluster that lies", () => {
  test.each([
    { status: null },
    { status: [] },
    { status: { conditions: {} } },
    { status: { conditions: [null, 1, { type: "Ready", status: {}, reason: 7, message: [] }] } },
    { metadata: { name: "a", uid: "1", resourceVersion: "1", creationTimestamp: "yesterday" } },
  ])("by %j is read all the same", (lie) => {
    const read = userWorkloadOf(userWorkloadPart({ ...service({}), ...lie }));
    expect(read).toMatchObject({ kind: "Service" });
    expect(isNewlyBroken(read ?? workload({}), stampedAt)).toBe(false);
  });

  test("with long and hostile texts is quoted shortly", () => {
    const text = `\u001b[31m${"x".repeat(100_000)}\u202e`;
    const ready = { type: "Ready", status: "False", reason: text, message: text };
    const metadata = { name: text, namespace: text, uid: "1", resourceVersion: "1" };
    const lie = { ...service({}), kind: text, metadata, status: { conditions: [ready] } };
    const read = JSON.stringify(userWorkloadOf(lie));
    expect(read.length).toBeLessThan(1_500);
    for (const sign of ["\u001b", "\\u001b", "\u202e"]) expect(read).not.toContain(sign);
  });
});

test.each([
  ["serving.knative.dev/v1", "Service", "services", true],
  ["serving.knative.dev/v1", "Configuration", "configurations", false],
  ["messaging.knative.dev/v1", "Subscription", "subscriptions", true],
  ["v1", "Service", "services", false],
  ["sources.knative.dev/v1", "PingSource", "pingsources", true],
  ["sources.example/v1", "ParrotSource", "parrotsources", false],
])("%s %s is a kind of users: %s %s", (apiVersion, kind, plural, isOne) => {
  const sources = new Set(["pingsources.sources.knative.dev"]);
  expect(isUserKind({ apiVersion, kind, plural, namespaced: true }, sources)).toBe(isOne);
});
