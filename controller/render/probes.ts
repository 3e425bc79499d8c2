import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { type Fields, invalidManifest, without } from "./fields.ts";
import { changeContainers } from "./pod-template.ts";
import type { WorkloadOverride } from "./scaling.ts";

type ProbeOverrides = NonNullable<WorkloadOverride["livenessProbes"]>;

const handlers = ["exec", "grpc", "httpGet", "tcpSocket"];

/**
 * The workload with settings of probes changed; of several overrides of one container the first counts. Zero means "as it was",
 * but for the grace period; an override without any setting removes the probe. FleetError ManifestInvalid when a container has no
 * probe to change: upstream makes one that does nothing, which an API server refuses (D-39). Spec: knative-operator.md 3.9.
 */
export function withProbes(
  manifest: Manifest,
  field: "readinessProbe" | "livenessProbe",
  overrides: ProbeOverrides = [],
): Manifest {
  if (overrides.length === 0) return manifest;
  return changeContainers(manifest, (container) => {
    const override = overrides.find((one) => one.container === container["name"]);
    if (override === undefined) return container;
    const settings = settingsOf(override);
    if (Object.keys(settings).length === 0) return withoutField(container, field);
    const probe = container[field];
    if (!isRecord(probe) || !handlers.some((handler) => isRecord(probe[handler]))) {
      const problem = `has no ${field} in its container ${override.container} that could be changed`;
      throw invalidManifest(manifest, problem);
    }
    return { ...container, [field]: { ...probe, ...settings } };
  });
}

function settingsOf(override: ProbeOverrides[number]): Fields {
  const { container: _, terminationGracePeriodSeconds, ...numbers } = override;
  const set = Object.entries(numbers).filter(([, number]) => number !== 0);
  const grace =
    terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds };
  return { ...Object.fromEntries(set), ...grace };
}

function withoutField(container: Fields, field: string): Fields {
  const rest = without(container, [field]);
  return isRecord(rest) ? rest : container;
}
