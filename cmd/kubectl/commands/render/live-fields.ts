import { isRecord } from "../../../../api/fields.ts";
import { groupOf, identityOf, keyOf, type Manifest } from "../../../../api/kubernetes.ts";
import { changeField, type Fields } from "../../../../render/fields.ts";

/**
 * Shows an object with the fields that the cluster fills in and the controller leaves to it: rules of aggregated ClusterRoles, replicas and
 * variables of the PingSource adapter. `live` is what the cluster has. Spec: knative-operator.md 3.12, 3.20.
 */
export function withLiveFields(live: readonly Manifest[]): (manifest: Manifest) => Manifest {
  const byId = new Map(live.map((one) => [identityOf(keyOf(one)), one]));
  return (manifest) => {
    const found = byId.get(identityOf(keyOf(manifest)));
    if (found === undefined) return manifest;
    if (isAggregated(manifest)) return withRulesOf(manifest, found);
    return isPingSourceAdapter(manifest) ? withScaleOf(manifest, found) : manifest;
  };
}

function isAggregated({ kind, apiVersion, aggregationRule }: Manifest): boolean {
  return (
    kind === "ClusterRole" &&
    groupOf(apiVersion) === "rbac.authorization.k8s.io" &&
    aggregationRule !== undefined
  );
}

// An API server shows a role without rules with `rules: null`.
function withRulesOf(manifest: Manifest, live: Manifest): Manifest {
  return Array.isArray(live["rules"]) ? { ...manifest, rules: live["rules"] } : manifest;
}

function isPingSourceAdapter({ kind, apiVersion, metadata }: Manifest): boolean {
  return (
    kind === "Deployment" &&
    groupOf(apiVersion) === "apps" &&
    metadata.name === "pingsource-mt-adapter"
  );
}

const kept = new Set([
  "SYSTEM_NAMESPACE",
  "K_METRICS_CONFIG",
  "K_LOGGING_CONFIG",
  "K_LEADER_ELECTION_CONFIG",
  "K_NO_SHUTDOWN_AFTER",
  "K_SINK_TIMEOUT",
  "K_TRACING_CONFIG",
  "NAMESPACE",
  // Missing in upstream's list, though every bundled release has it (N-4).
  "K_OBSERVABILITY_CONFIG",
]);

const containersPath = ["spec", "template", "spec", "containers"];

function withScaleOf(manifest: Manifest, live: Manifest): Manifest {
  const replicas = isRecord(live["spec"]) ? live["spec"]["replicas"] : undefined;
  const scaled =
    replicas === undefined
      ? manifest
      : changeField(manifest, ["spec"], (spec) => (isRecord(spec) ? { ...spec, replicas } : spec));
  const liveContainers = namedItems(valueAt(live, containersPath));
  return changeField(scaled, [...containersPath, "*"], (container) => {
    if (!isRecord(container)) return container;
    const found = liveContainers.find(({ name }) => name === container["name"]);
    if (found === undefined) return container;
    const running = namedItems(found["env"]).filter(({ name }) => kept.has(String(name)));
    const taken = new Set(running.map(({ name }) => name));
    const own = namedItems(container["env"]).filter(({ name }) => !taken.has(name));
    return { ...container, env: [...running, ...own] };
  });
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at: unknown, field) => (isRecord(at) ? at[field] : undefined), value);
}

function namedItems(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
