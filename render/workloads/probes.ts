import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { type Fields, invalidManifest, without } from "../fields.ts";
import { byContainer } from "./by-container.ts";
import { changeContainers } from "./pod-template.ts";
import type { WorkloadOverride } from "./scaling.ts";

type ProbeOverrides = NonNullable<WorkloadOverride["livenessProbes"]>;

const handlers = ["exec", "grpc", "httpGet", "tcpSocket"];
const numbers = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

/**
 * The workload with settings of probes changed by one override after the other (`byContainer`). Zero means "as it was", but for the
 * grace period; an override without any setting removes the probe. FleetError ManifestInvalid when a container has no
 * probe to change: upstream makes one that does nothing, which an API server refuses (D-39). Spec: knative-operator.md 3.9.
 */
export function withProbes(
  manifest: Manifest,
  field: "readinessProbe" | "livenessProbe",
  overrides: readonly (ProbeOverrides | undefined)[],
): Manifest {
  const own = byContainer(overrides);
  if (own.size === 0) return manifest;
  return changeContainers(manifest, (container) => {
    const settings = own.get(container["name"])?.map(settingsOf);
    if (settings === undefined) return container;
    let probe: unknown = container[field];
    for (const some of settings) {
      if (Object.keys(some).length === 0) probe = undefined;
      else if (isProbe(probe)) probe = { ...probe, ...some };
      else {
        const where = `its container ${String(container["name"])}`;
        throw invalidManifest(manifest, `has no ${field} in ${where} that could be changed`);
      }
    }
    return probe === undefined ? withoutField(container, field) : { ...container, [field]: probe };
  });
}

function isProbe(value: unknown): value is Fields {
  return isRecord(value) && handlers.some((handler) => isRecord(value[handler]));
}

function settingsOf(override: ProbeOverrides[number]): Fields {
  const { terminationGracePeriodSeconds } = override;
  const set = numbers.flatMap((name) => {
    const number = override[name] ?? 0;
    return number === 0 ? [] : [[name, number]];
  });
  const grace =
    terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds };
  return { ...Object.fromEntries(set), ...grace };
}

function withoutField(container: Fields, field: string): Fields {
  const rest = without(container, [field]);
  return isRecord(rest) ? rest : container;
}
