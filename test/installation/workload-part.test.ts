import { expect, test } from "vitest";

import type { KubeObject } from "../../api/kubernetes.ts";
import { readinessOf, turnOf } from "../../installation/readiness.ts";
import { workloadPart } from "../../installation/workload-part.ts";

const much = "m".repeat(150_000);
const note = "kubectl.kubernetes.io/last-applied-configuration";

/** A workload that is late, with much in every field that nobody reads. */
function workload(kind: string): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind,
    extra: much,
    metadata: {
      namespace: "n",
      name: "a",
      uid: "u",
      resourceVersion: "1",
      generation: 2,
      labels: { much },
      annotations: { much, [note]: much },
      finalizers: [much],
      managedFields: [{ manager: much }],
    },
    spec: {
      replicas: 3,
      template: { much },
      selector: { matchLabels: { app: "a" }, much },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1, much }, much },
      much,
    },
    status: {
      much,
      observedGeneration: 2,
      replicas: 3,
      updatedReplicas: 1,
      availableReplicas: 2,
      desiredNumberScheduled: 3,
      numberAvailable: 2,
      updatedNumberScheduled: 1,
      conditions: [
        { type: "Much", status: "True", message: much },
        { type: "Available", status: "False", much },
        { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: much },
        {
          type: "ReplicaFailure",
          status: "True",
          message: `pods "a" is forbidden: exceeded quota: small, ${much}`,
        },
      ],
    },
  };
}

test.each(["Deployment", "StatefulSet", "DaemonSet"])(
  "the kept part of a %s is small, and says as much about its readiness as the whole",
  (kind) => {
    const whole = workload(kind);
    const part = workloadPart(whole);
    const readiness = (one: KubeObject) => readinessOf([keyOf(kind)], new Map([[id(kind), one]]));
    expect(readiness(part)).toEqual(readiness(whole));
    expect(turnOf(part)).toBe(turnOf(whole));
    expect(JSON.stringify(part).length).toBeLessThan(6_000);
  },
);

test("the kept part of a workload has the labels of its pods, and the names of the annotations that an adoption looks for", () => {
  const { metadata, spec } = workloadPart(workload("Deployment"));
  expect(spec).toMatchObject({ selector: { matchLabels: { app: "a" } } });
  expect(metadata.annotations).toEqual({ [note]: "" });
});

function keyOf(kind: string) {
  return { apiVersion: "apps/v1", kind, namespace: "n", name: "a" };
}

function id(kind: string): string {
  return `apps|${kind}|n|a`;
}
