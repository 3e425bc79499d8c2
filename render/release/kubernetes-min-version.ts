import type { Transform } from "../transform.ts";
import { changeContainers, isWorkload } from "../workloads/pod-template.ts";
import { withVariable } from "../workloads/variables.ts";

const variable = "KUBERNETES_MIN_VERSION";

/**
 * Hands the controller's own `KUBERNETES_MIN_VERSION` to every container that it installs, so that Knative checks the cluster
 * against it; absent or empty: Knative's own minimum. Spec: knative-operator.md 3.7.
 */
export function kubernetesMinVersion(value: string | undefined): Transform {
  if (value === undefined || value === "") return (manifest) => manifest;
  return (manifest) =>
    isWorkload(manifest)
      ? changeContainers(
          manifest,
          (container) => withVariable(container, { name: variable, value }, manifest),
          ["initContainers", "containers"],
        )
      : manifest;
}
