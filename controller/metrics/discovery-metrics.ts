import { Gauge, type Registry } from "prom-client";

/** The labels of a cluster that discovery knows. */
export interface DiscoveredCluster {
  readonly manager: string;
  readonly state: string;
}

/** Adds the number of clusters that discovery knows, by their manager and state. */
export function addDiscoveryMetrics(
  registry: Registry,
  read: () => Iterable<DiscoveredCluster>,
): void {
  const gauge: Gauge = new Gauge({
    name: "knfleet_discovered_clusters",
    help: "Clusters that discovery knows, by manager of their ClusterProfile and state: healthy, unhealthy, refused, taken, gone, failed",
    labelNames: ["manager", "state"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { manager, state } of read()) gauge.inc({ manager, state });
    },
  });
}
