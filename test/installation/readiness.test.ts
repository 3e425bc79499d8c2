import { describe, expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import { unready } from "../../installation/pod-cause.ts";
import { isAvailable, readinessOf, turnOf, waitingAmong } from "../../installation/readiness.ts";

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
  const counts = { replicas, availableReplicas: replicas, updatedReplicas: updated };
  return { observedGeneration: 2, conditions: yes, ...counts };
}

/** All that is wanted of a Deployment by default. */
const complete = { conditions: yes, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };

describe("a workload is available", () => {
  const table: readonly [string, boolean, WorkloadOptions][] = [
    ["Deployment, condition True", true, { status: { ...complete, observedGeneration: 2 } }],
    ["Deployment, newer status", true, { status: { ...complete, observedGeneration: 3 } }],
    ["Deployment, old status", false, { status: { ...complete, observedGeneration: 1 } }],
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
      { deleting: true, status: { ...complete, observedGeneration: 2 } },
    ],
  ];
  test.each(table)("%s: %s", (_name, expected, options) => {
    expect(isAvailable(workload(options))).toBe(expected);
  });
});

describe("a StatefulSet is available", () => {
  const whole = { observedGeneration: 2, replicas: 3, availableReplicas: 3, updatedReplicas: 3 };
  const old = { ...whole, updatedReplicas: 1 };
  const table: readonly [string, boolean, Pick<WorkloadOptions, "spec" | "status">][] = [
    ["all pods", true, { spec: { replicas: 3 }, status: whole }],
    ["one short", false, { spec: { replicas: 3 }, status: { ...whole, availableReplicas: 2 } }],
    ["replicas left out means one", false, { status: { observedGeneration: 2 } }],
    ["none wanted", true, { spec: { replicas: 0 }, status: { observedGeneration: 2 } }],
    ["old pods that wait for their turn", false, { spec: { replicas: 3 }, status: old }],
    [
      "no new pod yet",
      false,
      { spec: { replicas: 3 }, status: { ...whole, updatedReplicas: undefined } },
    ],
    ["old pods that are to stay", true, { spec: partitioned(2), status: old }],
    ["more old pods than are to stay", false, { spec: partitioned(1), status: old }],
    [
      "old pods that somebody is to delete",
      true,
      { spec: { replicas: 3, updateStrategy: { type: "OnDelete" } }, status: old },
    ],
  ];
  test.each(table)("%s: %s", (_name, expected, options) => {
    expect(isAvailable(workload({ kind: "StatefulSet", ...options }))).toBe(expected);
  });
});

function partitioned(partition: number): object {
  return { replicas: 3, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } };
}

describe("a DaemonSet is available", () => {
  const everywhere = {
    observedGeneration: 2,
    desiredNumberScheduled: 2,
    numberAvailable: 2,
    updatedNumberScheduled: 2,
  };
  const old = { ...everywhere, updatedNumberScheduled: 1 };
  const table: readonly [string, boolean, Pick<WorkloadOptions, "spec" | "status">][] = [
    ["on every node", true, { status: everywhere }],
    ["on one of two nodes", false, { status: { ...everywhere, numberAvailable: 1 } }],
    ["not looked at yet", false, {}],
    ["an old pod on one of two nodes", false, { status: old }],
    [
      "an old pod that somebody is to delete",
      true,
      { spec: { updateStrategy: { type: "OnDelete" } }, status: old },
    ],
  ];
  test.each(table)("%s: %s", (_name, expected, options) => {
    expect(isAvailable(workload({ kind: "DaemonSet", ...options }))).toBe(expected);
  });
});

function messageOf(status: object, kind?: string): string {
  const object = workload({ status, ...(kind === undefined ? {} : { kind }) });
  return readinessOf([keyOf(object)], new Map([[objectId(keyOf(object)), object]])).message;
}

describe("readiness", () => {
  const ready = { ...complete, observedGeneration: 2 };
  const objects = [
    workload({ name: "webhook", status: ready }),
    workload({ name: "controller", status: { observedGeneration: 2, conditions: no } }),
    workload({ name: "autoscaler", status: ready }),
  ];
  const observed = new Map(objects.map((object) => [objectId(keyOf(object)), object]));
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
      stuck: [],
      isRollingOut: false,
      scaledToZero: [],
    });
  });

  test("is there when every desired workload is available", () => {
    const desired = keys.filter(({ name }) => name !== "controller");
    expect(readinessOf(desired, observed)).toEqual({
      available: true,
      waiting: [],
      missing: [],
      message: "",
      stuck: [],
      isRollingOut: false,
      scaledToZero: [],
    });
  });

  test("says how far a rollout is, and that it does not come further", () => {
    const late = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
    const status = rolling({ replicas: 3, updated: 1 });
    expect(messageOf(status)).toBe(
      "1 of 1 not available: webhook (rolling out, 2 of 3 pods are old)",
    );
    expect(messageOf({ ...status, availableReplicas: 0, conditions: [late, ...no] })).toContain(
      "0 of 1 pods available, ProgressDeadlineExceeded",
    );
    expect(
      messageOf({ ...status, conditions: [late, { type: "Available", status: "True" }] }),
    ).toBe(
      "1 of 1 not available: webhook (rolling out, 2 of 3 pods are old, ProgressDeadlineExceeded)",
    );
  });

  test("says of other workloads, too, that they roll out", () => {
    const counts = { observedGeneration: 2, replicas: 1, availableReplicas: 1 };
    expect(messageOf(counts, "StatefulSet")).toBe(
      "1 of 1 not available: StatefulSet webhook (rolling out, 1 of 1 pods are old)",
    );
    const nodes = { desiredNumberScheduled: 3, numberAvailable: 3, updatedNumberScheduled: 1 };
    expect(messageOf({ observedGeneration: 2, ...nodes }, "DaemonSet")).toBe(
      "1 of 1 not available: DaemonSet webhook (rolling out, 2 of 3 pods are old)",
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
    ["0 of 3 pods available", false, { spec: { replicas: 3 }, conditions: no }],
    ["0 of 1 pods available, ProgressDeadlineExceeded", true, { conditions: [...no, late] }],
    ["quota small is exhausted", true, { conditions: [...no, late, quota] }],
    ["being deleted", false, { conditions: no, deleting: true }],
  ])("is said by itself: %s, stuck: %s", (why, isStuck, { conditions, ...options }) => {
    const one = workload({ ...options, status: { observedGeneration: 2, conditions } });
    const observed = new Map([[objectId(keyOf(one)), one]]);
    expect(readinessOf([keyOf(one)], observed)).toMatchObject({
      message: `1 of 1 not available: webhook (${why})`,
      stuck: isStuck ? [`webhook (${why})`] : [],
    });
  });

  const pull = "image a cannot be pulled (ImagePullBackOff)";
  test.each([
    [pull, true, { conditions: [...no, late], found: pull }],
    ["its pods run but are not ready", false, { conditions: no, found: unready }],
    [`${unready}, ProgressDeadlineExceeded`, true, { conditions: [...no, late], found: unready }],
  ])(
    "is said by its pods where it does not know itself: %s, stuck: %s",
    (why, isStuck, { conditions, found }) => {
      const one = workload({ status: { observedGeneration: 2, conditions } });
      const id = objectId(keyOf(one));
      expect(readinessOf([keyOf(one)], new Map([[id, one]]), new Map([[id, found]]))).toMatchObject(
        {
          message: `1 of 1 not available: webhook (${why})`,
          stuck: isStuck ? [`webhook (${why})`] : [],
        },
      );
    },
  );

  test("is named before what may become available by itself", () => {
    const many = Array.from({ length: 12 }, (_, index) => workload({ name: `d${index + 10}` }));
    const observed = new Map(many.map((one) => [objectId(keyOf(one)), one]));
    const causes = new Map([...observed.keys()].slice(-1).map((id) => [id, pull]));
    const { message, stuck } = readinessOf(many.map(keyOf), observed, causes);
    expect(stuck).toEqual([`d21 (${pull})`]);
    expect(message).toMatch(/: d10 \(.*, d18 \([^,]*, d21 \(image a .* and 2 more$/);
  });

  test("counts only where the message says it", () => {
    const many = Array.from({ length: 12 }, (_, index) => workload({ name: `d${index + 10}` }));
    const observed = new Map(many.map((one) => [objectId(keyOf(one)), one]));
    const causes = new Map([...observed.keys()].map((id) => [id, pull]));
    const { message, stuck } = readinessOf(many.map(keyOf), observed, causes);
    expect(stuck).toHaveLength(10);
    expect(stuck.filter((text) => !message.includes(text))).toEqual([]);
  });

  test("is news when it turns, and the count of pods is not", () => {
    const before = turn({ conditions: no, availableReplicas: 1 });
    expect(turn({ conditions: no, availableReplicas: 2 })).toBe(before);
    expect(turn(complete)).not.toBe(before);
    expect(turn({ conditions: [...no, late] })).not.toBe(before);
    expect(turn({ conditions: [...no, quota] })).not.toBe(before);
  });
});
