import { expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { isAvailable, readinessOf, workloadReadinessOf } from "../../installation/readiness.ts";

/** What a Deployment counts; Kubernetes leaves out what is 0. */
interface Counts {
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
}

interface Look {
  /** How many pods are wanted. */
  readonly wanted?: number;
  readonly counts?: Counts;
  /** Reason of the condition Progressing. */
  readonly reason?: string;
  /** Status of the condition Available. */
  readonly available?: "True" | "False";
  readonly refused?: boolean;
  /** Default: the one that the status is of, 2. */
  readonly generation?: number;
}

const over = "NewReplicaSetAvailable";

function deployment({
  wanted = 1,
  counts = {},
  reason = "ReplicaSetUpdated",
  available = "True",
  refused = false,
  generation = 2,
}: Look): KubeObject {
  const message = 'pods "d-" is forbidden: exceeded quota: small, requested: pods=1';
  const refusal = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message };
  const conditions = [
    { type: "Progressing", status: "True", reason },
    { type: "Available", status: available },
    ...(refused ? [refusal] : []),
  ];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "ns", name: "d", uid: "u", resourceVersion: "1", generation },
    spec: { replicas: wanted },
    status: { observedGeneration: 2, ...counts, conditions },
  };
}

function pods(replicas: number, updatedReplicas: number, availableReplicas: number): Counts {
  return { replicas, updatedReplicas, availableReplicas };
}

function messageOf(object: KubeObject): string {
  return readinessOf([keyOf(object)], new Map([[objectId(keyOf(object)), object]])).message;
}

// Kubernetes says that each of them is available: it may miss as many pods.
test.each<[string, Look, string]>([
  ["of which no pod was made yet", { reason: "NewReplicaSetCreated" }, "0 of 1 pods available"],
  ["of which no pod is allowed", { refused: true }, "quota small is exhausted"],
  ["of three of which none is allowed", { wanted: 3, refused: true }, "quota small is exhausted"],
  [
    "that lost its only pod and may have no other",
    { reason: over, refused: true },
    "quota small is exhausted",
  ],
  ["between its old pod and its new one", {}, "0 of 1 pods available"],
  [
    "of which the last new pod is not allowed",
    { wanted: 3, counts: pods(2, 2, 2), refused: true },
    "quota small is exhausted",
  ],
  [
    "of which the last new pod is to come",
    { wanted: 3, counts: pods(2, 2, 2) },
    "2 of 3 pods available",
  ],
  [
    "of which a new pod does not run yet",
    { wanted: 4, counts: pods(4, 4, 3) },
    "3 of 4 pods available",
  ],
  ["that lost all of its pods", { wanted: 4, counts: pods(4, 4, 0), reason: over }, "0 of 4 pods"],
  [
    "that has but three pods while it rolls out",
    { wanted: 4, counts: pods(5, 2, 3) },
    "rolling out, 3 of 5 pods are old",
  ],
  [
    "whose change is not looked at yet",
    { counts: pods(1, 1, 1), reason: over, generation: 3 },
    "rolling out, no new pod yet",
  ],
  [
    "whose change is not looked at yet while the last one is rolled out",
    { counts: pods(2, 1, 1), generation: 3 },
    "rolling out, 1 of 2 pods are old",
  ],
  ["whose new pod is not ready", { counts: pods(2, 1, 1) }, "rolling out, 1 of 2 pods are old"],
  [
    "that is not called available",
    { counts: pods(1, 1, 1), available: "False" },
    "1 of 1 pods available, but its condition Available is False",
  ],
])("a Deployment %s is not available", (_name, look, why) => {
  expect(isAvailable(deployment(look))).toBe(false);
  expect(messageOf(deployment(look))).toContain(`1 of 1 not available: d (${why}`);
});

test.each<[string, Look]>([
  ["all of whose pods are there", { counts: pods(1, 1, 1), reason: over }],
  ["that needs no pod", { wanted: 0, reason: over }],
  ["that needs no pod at first", { wanted: 0, reason: "NewReplicaSetCreated" }],
  ["that lost one of its pods", { wanted: 4, counts: pods(4, 4, 3), reason: over }],
  [
    "that lost one of its pods and may have no other",
    { wanted: 4, counts: pods(3, 3, 3), reason: over, refused: true },
  ],
  ["that an autoscaler makes larger", { wanted: 8, counts: pods(8, 8, 6), reason: over }],
  ["that an autoscaler makes smaller", { wanted: 2, counts: pods(4, 4, 4), reason: over }],
])("a Deployment %s is available", (_name, look) => {
  expect(isAvailable(deployment(look))).toBe(true);
});

test("a Deployment that Kubernetes does not call available is not", () => {
  const look: Look = { wanted: 4, counts: pods(4, 4, 2), reason: over, available: "False" };
  expect(isAvailable(deployment(look))).toBe(false);
});

test.each<[string, Look]>([
  ["whose new pod is not ready", { counts: pods(2, 1, 1) }],
  ["whose change is not looked at yet", { counts: pods(1, 1, 1), reason: over, generation: 3 }],
  ["of which no pod was made yet", { reason: "NewReplicaSetCreated" }],
])("a Deployment %s is in a rollout", (_name, look) => {
  const one = deployment(look);
  expect(workloadReadinessOf(one).state).toBe("rollingOut");
  const missing = { ...keyOf(one), name: "e" };
  const known = new Map([[objectId(keyOf(one)), one]]);
  expect(readinessOf([keyOf(one), missing], known)).toMatchObject({ isRollingOut: true });
});

test.each<[string, Look, string | undefined]>([
  ["past its deadline", { counts: pods(2, 1, 1), reason: "ProgressDeadlineExceeded" }, undefined],
  ["whose new pod is not allowed", { counts: pods(1, 0, 1), refused: true }, undefined],
  ["with a known cause", { counts: pods(2, 1, 1) }, "no node takes its pods (Unschedulable)"],
  ["that somebody paused", { counts: pods(2, 1, 1), reason: "DeploymentPaused" }, undefined],
  ["that lost its pods", { counts: pods(1, 1, 0), reason: over, available: "False" }, undefined],
])("a rollout %s does not go on", (_name, look, found) => {
  expect(workloadReadinessOf(deployment(look), found).state).toBe("notAvailable");
});
