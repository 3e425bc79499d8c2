import { describe, expect, test } from "vitest";

import { kubernetesMinVersion } from "../../../render/workloads/pod-template.ts";
import { workload } from "../workload-objects.ts";

const own = { name: "KUBERNETES_MIN_VERSION", value: "v1.30.0" };

describe("the least version of Kubernetes", () => {
  test.each(["Deployment", "StatefulSet", "DaemonSet", "Job"])(
    "is told to all containers of a %s",
    (kind) => {
      const other = { name: "A", value: "1" };
      const valueFrom = { fieldRef: { fieldPath: "metadata.name" } };
      const before = workload(`${kind} a`, {
        containers: [{ name: "c", env: [{ name: own.name, valueFrom }, other] }, { name: "d" }],
        initContainers: [{ name: "i", env: [other] }],
      });
      expect(kubernetesMinVersion("v1.30.0")(before)).toEqual(
        workload(`${kind} a`, {
          containers: [
            { name: "c", env: [own, other] },
            { name: "d", env: [own] },
          ],
          initContainers: [{ name: "i", env: [other, own] }],
        }),
      );
    },
  );

  test.each([undefined, ""])("is Knative's own for %j", (value) => {
    const manifest = workload("a", { containers: [{ name: "c" }] });
    expect(kubernetesMinVersion(value)(manifest)).toBe(manifest);
  });

  test("is not told to other objects", () => {
    const manifest = workload("CronJob a", { containers: [{ name: "c" }] });
    expect(kubernetesMinVersion("v1.30.0")(manifest)).toBe(manifest);
  });
});
