import { describe, expect, test } from "vitest";

import type { KnativeEventing } from "../../../api/component.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { sinkBindingMode } from "../../../render/features/eventing.ts";

const name = "SINK_BINDING_SELECTION_MODE";

function deployment(
  containers: readonly object[],
  metadata = { name: "eventing-webhook" },
): Manifest {
  const spec = { template: { spec: { containers } } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec };
}

function override(value: string, container = "eventing-webhook", workload = "eventing-webhook") {
  return { name: workload, env: [{ container, envVars: [{ name, value }] }] };
}

describe("the mode of SinkBindings", () => {
  test.each<{ spec: NonNullable<KnativeEventing["spec"]>; mode: string }>([
    { spec: {}, mode: "exclusion" },
    { spec: { sinkBindingSelectionMode: "" }, mode: "exclusion" },
    { spec: { sinkBindingSelectionMode: "inclusion" }, mode: "inclusion" },
    {
      spec: { sinkBindingSelectionMode: "a", workloads: [override("b")] },
      mode: "a",
    },
    { spec: { workloads: [override("b")], deployments: [override("c")] }, mode: "b" },
    { spec: { deployments: [override("c")] }, mode: "c" },
    {
      spec: { workloads: [override("b", "other"), override("b", "eventing-webhook", "other")] },
      mode: "exclusion",
    },
  ])("of $spec is $mode", ({ spec, mode }) => {
    const before = deployment([
      { name: "eventing-webhook", env: [{ name: "A", value: "1" }] },
      { name: "sidecar", env: [{ name, valueFrom: { fieldRef: {} } }] },
    ]);
    expect(sinkBindingMode(spec)(before)).toEqual(
      deployment([
        {
          name: "eventing-webhook",
          env: [
            { name: "A", value: "1" },
            { name, value: mode },
          ],
        },
        { name: "sidecar", env: [{ name, value: mode }] },
      ]),
    );
  });

  test("does not concern other Deployments", () => {
    const other = deployment([{ name: "eventing-webhook" }], { name: "other" });
    expect(sinkBindingMode({ sinkBindingSelectionMode: "inclusion" })(other)).toBe(other);
  });
});
