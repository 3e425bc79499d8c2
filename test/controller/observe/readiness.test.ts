import { describe, expect, test } from "vitest";

import { identityOf, keyOf, type KubeObject, type ObjectKey } from "../../../api/kubernetes.ts";
import {
  isAvailable,
  readinessOf,
  turnOf,
  waitingAmong,
} from "../../../controller/observe/readiness.ts";

interface WorkloadOptions {
  readonly name?: string;
  readonly kind?: string;
  readonly generation?: number;
  readonly deleting?: boolean;
  readonly spec?: object;
  readonly status?: object;
}

function workload(options: WorkloadOptions): KubeObject {
  const { name = "webhook", kind = "Deployment", generation = 2, deleting = false } = options;
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: {
      namespace: "knative-serving",
      name,
      uid: `uid-${name}`,
      resourceVersion: "1",
      generation,
      ...(deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: options.spec ?? {},
    ...(options.status === undefined ? {} : { status: options.status }),
  };
}

const yes = [
  { type: "Progressing", status: "True" },
  { type: "Available", status: "True" },
];
const no = [{ type: "Available", status: "False" }];

/** A Deployment that has what it needs, if only of old pods. */
function rolling({ replicas = 1, updated }: { replicas?: number; updated?: number | undefined }) {
  return { observedGeneration: 2, conditions: yes, replicas, updatedReplicas: updated };
}

describe("a workload is available", () => {
  const table: readonly [string, boolean, WorkloadOptions][] = [
    ["Deployment, condition True", true, { status: { observedGeneration: 2, conditions: yes } }],
    ["Deployment, newer status", true, { status: { observedGeneration: 3, conditions: yes } }],
    ["Deployment, old status", false, { status: { observedGeneration: 1, conditions: yes } }],
    ["Deployment, condition False", false, { status: { observedGeneration: 2, conditions: no } }],
    ["Deployment, no condition", false, { status: { observedGeneration: 2 } }],
    ["Deployment, conditions null", false, { status: { observedGeneration: 2, conditions: null } }],
    ["Deployment, no status", false, {}],
    ["Deployment, none but new pods", true, { status: rolling({ replicas: 2, updated: 2 }) }],
    ["Deployment, a new pod beside an old one", false, { status: rolling({ replicas: 2 }) }],
    ["Deployment, no new pod yet", false, { status: rolling({ updated: undefined }) }],
    [
      "Deployment, being deleted",
      false,
      { deleting: true, status: { observedGeneration: 2, conditions: yes } },
    ],
    [
      "StatefulSet, all available",
      true,
      {
        kind: "StatefulSet",
        spec: { replicas: 3 },
        status: { observedGeneration: 2, availableReplicas: 3 },
      },
    ],
    [
      "StatefulSet, one short",
      false,
      {
        kind: "StatefulSet",
        spec: { replicas: 3 },
        status: { observedGeneration: 2, availableReplicas: 2 },
      },
    ],
    [
      "StatefulSet, replicas left out means one",
      false,
      { kind: "StatefulSet", status: { observedGeneration: 2 } },
    ],
    [
      "StatefulSet, none wanted",
      true,
      { kind: "StatefulSet", spec: { replicas: 0 }, status: { observedGeneration: 2 } },
    ],
    [
      "DaemonSet, on every node",
      true,
      {
        kind: "DaemonSet",
        status: { observedGeneration: 2, desiredNumberScheduled: 2, numberAvailable: 2 },
      },
    ],
    [
      "DaemonSet, on one of two nodes",
      false,
      {
        kind: "DaemonSet",
        status: { observedGeneration: 2, desiredNumberScheduled: 2, numberAvailable: 1 },
      },
    ],
    ["DaemonSet, not looked at yet", false, { kind: "DaemonSet" }],
  ];
  test.each(table)("%s: %s", (_name, expected, options) => {
    expect(isAvailable(workload(options))).toBe(expected);
  });
});

function messageOf(status: object): string {
  const object = workload({ status });
  return readinessOf([keyOf(object)], new Map([[identityOf(keyOf(object)), object]])).message;
}

describe("readiness", () => {
  const ready = { observedGeneration: 2, conditions: yes };
  const objects = [
    workload({ name: "webhook", status: ready }),
    workload({ name: "controller", status: { observedGeneration: 2, conditions: no } }),
    workload({ name: "autoscaler", status: ready }),
  ];
  const observed = new Map(objects.map((object) => [identityOf(keyOf(object)), object]));
  const keys = objects.map(keyOf);
  const missing: ObjectKey = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    namespace: "knative-serving",
    name: "activator",
  };
  const others: ObjectKey[] = [
    { apiVersion: "v1", kind: "ConfigMap", namespace: "knative-serving", name: "config-network" },
    { apiVersion: "batch/v1", kind: "Job", namespace: "knative-serving", name: "cleanup" },
  ];

  test("names what is waited for and what is missing, sorted", () => {
    expect(readinessOf([...keys, missing, ...others], observed)).toEqual({
      available: false,
      waiting: ["activator", "controller"],
      missing: ["activator"],
      message: "2 of 4 not available: activator (missing), controller (0 of 1 pods available)",
    });
  });

  test("is there when every desired workload is available", () => {
    const desired = keys.filter(({ name }) => name !== "controller");
    expect(readinessOf(desired, observed)).toEqual({
      available: true,
      waiting: [],
      missing: [],
      message: "",
    });
  });

  test("says how far a rollout is, and that it does not come further", () => {
    const late = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
    const status = rolling({ replicas: 3, updated: 1 });
    expect(messageOf(status)).toBe(
      "1 of 1 not available: webhook (rolling out, 2 of 3 pods are old)",
    );
    expect(messageOf({ ...status, conditions: [late, ...no] })).toContain(
      "0 of 1 pods available, ProgressDeadlineExceeded",
    );
    expect(
      messageOf({ ...status, conditions: [late, { type: "Available", status: "True" }] }),
    ).toBe(
      "1 of 1 not available: webhook (rolling out, 2 of 3 pods are old, ProgressDeadlineExceeded)",
    );
  });

  test("does not depend on the order of the input", () => {
    const desired = [...keys, missing];
    expect(readinessOf(desired.toReversed(), observed)).toEqual(readinessOf(desired, observed));
  });

  test("finds a workload whatever API version it was observed in", () => {
    const old = keys.map((key) => ({ ...key, apiVersion: "apps/v1beta2" }));
    expect(readinessOf(old, observed).missing).toEqual([]);
  });

  test("asks for causes of those that exist", () => {
    const waiting = waitingAmong([...keys, missing, ...others], observed);
    expect(waiting.map(({ metadata }) => metadata.name)).toEqual(["controller"]);
  });

  test("names ten at most", () => {
    const many = Array.from({ length: 12 }, (_, index) => ({ ...missing, name: `d${index + 10}` }));
    const { message } = readinessOf(many, observed);
    expect(message).toMatch(
      /^12 of 12 not available: d10 \(missing\), .*, d19 \(missing\) and 2 more$/,
    );
  });
});

function refused(message: string): object {
  return { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message };
}

function turn(status: object): string {
  return turnOf(workload({ status: { observedGeneration: 2, ...status } }));
}

describe("why a workload is not available", () => {
  const late = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
  const quota = refused('pods "a-" is forbidden: exceeded quota: small, requested: pods=1');

  test.each([
    ["0 of 3 pods available", { spec: { replicas: 3 }, conditions: no }],
    ["0 of 1 pods available, ProgressDeadlineExceeded", { conditions: [...no, late] }],
    ["quota small is exhausted", { conditions: [...no, late, quota] }],
    ["being deleted", { conditions: no, deleting: true }],
  ])("is said by itself: %s", (why, { conditions, ...options }) => {
    const one = workload({ ...options, status: { observedGeneration: 2, conditions } });
    const observed = new Map([[identityOf(keyOf(one)), one]]);
    expect(readinessOf([keyOf(one)], observed).message).toBe(
      `1 of 1 not available: webhook (${why})`,
    );
  });

  test("is said by its pods where it does not know itself", () => {
    const one = workload({ status: { observedGeneration: 2, conditions: [...no, late] } });
    const id = identityOf(keyOf(one));
    const causes = new Map([[id, "image a cannot be pulled (ImagePullBackOff)"]]);
    expect(readinessOf([keyOf(one)], new Map([[id, one]]), causes).message).toBe(
      "1 of 1 not available: webhook (image a cannot be pulled (ImagePullBackOff))",
    );
  });

  test("is news when it turns, and the count of pods is not", () => {
    const before = turn({ conditions: no, availableReplicas: 1 });
    expect(turn({ conditions: no, availableReplicas: 2 })).toBe(before);
    expect(turn({ conditions: yes })).not.toBe(before);
    expect(turn({ conditions: [...no, late] })).not.toBe(before);
    expect(turn({ conditions: [...no, quota] })).not.toBe(before);
  });
});
