type Cluster = { readonly namespace: string; readonly name: string } | null;

/**
 * How clusters are named in one table: by the name of their ClusterProfile, with its namespace only when two of them
 * share a name; `<hub>` for the hub itself.
 */
export function clusterNames(clusters: readonly Cluster[]): (cluster: Cluster) => string {
  const namespaces = new Map<string, string>();
  const ambiguous = new Set<string>();
  for (const cluster of clusters) {
    if (cluster === null) continue;
    const known = namespaces.get(cluster.name) ?? cluster.namespace;
    if (known !== cluster.namespace) ambiguous.add(cluster.name);
    namespaces.set(cluster.name, known);
  }
  return (cluster) => {
    if (cluster === null) return "<hub>";
    return ambiguous.has(cluster.name) ? `${cluster.namespace}/${cluster.name}` : cluster.name;
  };
}
