import { expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject, type ManagedFieldsEntry } from "../../api/kubernetes.ts";
import { readinessOf, turnOf, workloadReadinessOf } from "../../installation/readiness.ts";
import { isScaledToZero, scalerOf } from "../../installation/scale.ts";
import { workloadPart } from "../../installation/workload-part.ts";

const selector = { "f:selector": {} };
const replicas = { "f:replicas": {} };

function entry(manager: string, operation: string, spec: object): ManagedFieldsEntry {
  return { manager, operation, time: "2026-11-29T10:00:00Z", fieldsV1: { "f:spec": { ...spec } } };
}

const ours = entry("knfleet", "Apply", selector);
const kubectl = { ...entry("kubectl", "Update", replicas), subresource: "scale" };

/** A Deployment whose cluster took note of its scale. */
function deployment(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  { wanted = 0, name = "activator", generation = 2 } = {},
): KubeObject {
  const fields = managedFields === undefined ? {} : { managedFields };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "ns", name, uid: "u", resourceVersion: "1", generation, ...fields },
    spec: { replicas: wanted },
    status: {
      observedGeneration: 2,
      conditions: [
        { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" },
        { type: "Available", status: "True" },
      ],
    },
  };
}

test.each<[string, boolean, KubeObject]>([
  ["kubectl scale", true, deployment([ours, kubectl])],
  ["a downscaler that writes the object", true, deployment([ours, entry("d", "Update", replicas)])],
  [
    "a tool that writes the whole object beside its installer",
    true,
    deployment([ours, entry("kubectl-replace", "Update", { ...selector, ...replicas })]),
  ],
  ["its installer", false, deployment([entry("knfleet", "Apply", { ...selector, ...replicas })])],
  [
    "upstream's operator, which installed it",
    false,
    deployment([entry("manifestival", "Update", { ...selector, ...replicas })]),
  ],
  ["nobody", false, deployment([ours, kubectl], { wanted: 1 })],
  ["somebody unknown", false, deployment(undefined)],
  [
    "the PingSource controller",
    false,
    deployment([ours, kubectl], { name: "pingsource-mt-adapter" }),
  ],
  ["KEDA", false, deployment([ours, { ...kubectl, manager: "keda" }])],
  [
    "a HorizontalPodAutoscaler",
    false,
    deployment([ours, { ...kubectl, manager: "kube-controller-manager" }]),
  ],
])("a Deployment that was scaled by %s counts as scaled to zero: %s", (_who, expected, one) => {
  expect(isScaledToZero(one)).toBe(expected);
  expect(isScaledToZero(workloadPart(one))).toBe(expected);
});

test.each([
  ["kafka-source-dispatcher", false],
  ["kafka-broker-dispatcher", false],
  ["github-controller-manager", true],
])("a StatefulSet %s without pods counts as scaled to zero: %s", (name, expected) => {
  const one = { ...deployment([ours, kubectl], { name }), kind: "StatefulSet" };
  expect(isScaledToZero(one)).toBe(expected);
  expect(isScaledToZero(workloadPart(one))).toBe(expected);
});

test("a Deployment that somebody scaled to zero is available, and is named", () => {
  const one = deployment([ours, kubectl]);
  const part = workloadPart(one);
  expect(workloadReadinessOf(part)).toEqual({
    state: "scaledToZero",
    text: "scaled to zero",
    isStuck: false,
  });
  expect(readinessOf([keyOf(one)], new Map([[objectId(keyOf(one)), part]]))).toMatchObject({
    available: true,
    scaledToZero: ["activator"],
  });
});

test("a scale to zero is told at once, and once", () => {
  const before = turnOf(workloadPart(deployment([ours, kubectl], { wanted: 1 })));
  const unseen = turnOf(workloadPart(deployment([ours, kubectl], { generation: 3 })));
  expect(unseen).not.toBe(before);
  expect(turnOf(workloadPart(deployment([ours, kubectl])))).toBe(unseen);
});

test("who scaled a Deployment last is known, in plain text", () => {
  const later = { ...entry("dᴏwn", "Update", replicas), time: "2026-11-29T11:00:00Z" };
  const earlier = entry("kubectl", "Update", replicas);
  expect(scalerOf(deployment([earlier, later]))).toEqual({
    manager: "d?wn",
    time: "2026-11-29T11:00:00Z",
  });
  expect(scalerOf(deployment([ours]))).toBeUndefined();
});
