import { describe, expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { readinessOf, workloadReadinessOf } from "../../installation/readiness.ts";
import { workloadPart } from "../../installation/workload-part.ts";

const now = new Date("2026-11-29T10:00:00Z");

/** A StatefulSet or DaemonSet whose status was last written some minutes ago. */
function workload(
  kind: "StatefulSet" | "DaemonSet",
  { spec = {}, status = {}, minutes = 1 }: { spec?: object; status?: object; minutes?: number },
): KubeObject {
  const time = new Date(now.getTime() - minutes * 60_000).toISOString();
  const managedFields = [
    { manager: "knfleet", operation: "Apply", time: "2026-11-01T10:00:00Z" },
    { manager: "kube-controller-manager", operation: "Update", subresource: "status", time },
  ];
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: {
      namespace: "ns",
      name: "request-reply",
      uid: "u",
      resourceVersion: "1",
      generation: 2,
      managedFields,
    },
    spec,
    status: { observedGeneration: 2, ...status },
  };
}

const between = { currentRevision: "request-reply-1", updateRevision: "request-reply-2" };
/** The one pod was replaced, and its successor is not ready. */
const replaced = { replicas: 1, updatedReplicas: 1, ...between };
/** The last of three pods was replaced, and its successor is not ready. */
const third = { replicas: 3, updatedReplicas: 1, availableReplicas: 2, ...between };
const onDelete = { updateStrategy: { type: "OnDelete" } };

describe("a StatefulSet", () => {
  test.each<[string, string, string, Parameters<typeof workload>[1]]>([
    ["whose pod is replaced", "rollingOut", "0 of 1 pods available", { status: replaced }],
    [
      "whose third pod is replaced",
      "rollingOut",
      "2 of 3 pods available",
      { spec: { replicas: 3 }, status: third },
    ],
    [
      "whose rollout does not go on",
      "notAvailable",
      "2 of 3 pods available, no progress for 10 minutes",
      { spec: { replicas: 3 }, status: third, minutes: 10 },
    ],
    [
      "that nobody has looked at since its change",
      "rollingOut",
      "0 of 1 pods available",
      { status: { ...replaced, observedGeneration: 1 }, minutes: 60 },
    ],
    [
      "that lost its pod",
      "notAvailable",
      "0 of 1 pods available",
      { status: { ...replaced, currentRevision: "request-reply-2" } },
    ],
    [
      "whose pods a user replaces",
      "notAvailable",
      "0 of 1 pods available",
      { spec: onDelete, status: replaced },
    ],
    [
      "that rolls out as far as its partition",
      "available",
      "",
      {
        spec: {
          replicas: 3,
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } },
        },
        status: { ...third, availableReplicas: 3 },
        minutes: 60,
      },
    ],
  ])("%s is %s (%s)", (_which, state, text, options) => {
    const one = workload("StatefulSet", options);
    expect(workloadReadinessOf(one, undefined, now)).toMatchObject({ state, text });
    expect(workloadReadinessOf(workloadPart(one), undefined, now)).toMatchObject({ state, text });
  });

  test("that is late is told as one that does not go on by itself", () => {
    const one = workload("StatefulSet", { status: replaced, minutes: 11 });
    const known = new Map([[objectId(keyOf(one)), one]]);
    const text = "StatefulSet request-reply (0 of 1 pods available, no progress for 10 minutes)";
    expect(readinessOf([keyOf(one)], known, new Map(), now)).toMatchObject({
      available: false,
      waiting: ["StatefulSet request-reply"],
      message: `1 of 1 not available: ${text}`,
      stuck: [text],
      isRollingOut: false,
    });
  });

  test("that is missing is named with its kind", () => {
    const key = keyOf(workload("StatefulSet", {}));
    expect(readinessOf([key], new Map())).toMatchObject({
      missing: ["StatefulSet request-reply"],
      message: "1 of 1 not available: StatefulSet request-reply (missing)",
    });
  });
});

test.each<[string, string, Parameters<typeof workload>[1]]>([
  ["rollingOut", "2 of 3 pods available", {}],
  ["notAvailable", "2 of 3 pods available, no progress for 10 minutes", { minutes: 10 }],
])("a DaemonSet that replaces its pods is %s (%s)", (state, text, options) => {
  const counts = { desiredNumberScheduled: 3, numberAvailable: 2, updatedNumberScheduled: 1 };
  const one = workload("DaemonSet", { status: counts, ...options });
  expect(workloadReadinessOf(one, undefined, now)).toMatchObject({ state, text });
});
