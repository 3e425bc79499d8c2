import type { StatusItem } from "../../../../cmd/kubectl/fleet/status-item.ts";
import type { ClusterItem } from "../../../../cmd/kubectl/page/clusters.ts";

interface Given {
  readonly name?: string;
  readonly namespace?: string;
  readonly kind?: StatusItem["kind"];
  readonly cluster?: string | null;
  readonly version?: string | null;
  readonly severity?: StatusItem["severity"];
  readonly reason?: string;
  readonly code?: StatusItem["code"];
  readonly message?: string;
  readonly since?: string;
  readonly hub?: Partial<StatusItem["hub"]>;
  readonly live?: Partial<StatusItem["live"]>;
}

const nothing = { reason: null, code: null, message: null, since: null };

/** An installation in a FleetStatus, well unless something else is said. */
export function itemOf(given: Given): StatusItem {
  const { cluster = "spoke-1", hub, live, ...others } = given;
  return {
    namespace: "team-a",
    name: "knative-serving",
    kind: "KnativeServing",
    cluster: cluster === null ? null : { namespace: "fleet", name: cluster },
    version: "1.23.0",
    wantedVersion: null,
    createdAt: null,
    targetNamespace: null,
    severity: "ok",
    ...nothing,
    detail: null,
    replica: null,
    ...others,
    hub: { state: "Ready", ...nothing, ...hub },
    live: {
      state: "Ready",
      ...nothing,
      namespace: null,
      deployments: null,
      notAvailable: [],
      scaledToZero: [],
      missing: [],
      server: null,
      provider: null,
      feedback: null,
      kubernetesVersion: null,
      ...live,
    },
  };
}

/** What a ClusterProfile says of a healthy cluster, unless something else is said. */
export function clusterOf(given: Partial<ClusterItem>): ClusterItem {
  return {
    namespace: "fleet",
    name: "spoke-1",
    labels: {},
    properties: {},
    healthy: true,
    message: null,
    provider: "secretreader",
    server: "https://spoke-1.example:6443",
    kubernetesVersion: "1.36.1",
    ...given,
  };
}
