import type { KubeObject } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";

/** All objects of a cluster, of every kind that it serves, in its preferred version; all of them or those that a label selects. */
export function clusterObjects(
  cluster: Cluster,
  labelSelector?: string,
): Promise<readonly KubeObject[]> {
  // A server that still takes in new CRDs answers 404 and 429 for a moment.
  return waitFor("everything to be listed", async () => {
    const types = await listableTypes(cluster);
    const selected = labelSelector === undefined ? {} : { labelSelector };
    const lists = await Promise.all(
      types.map(async (type) => {
        const items = await cluster.admin.list({ ...type, ...selected });
        return items.map((item) => ({ ...item, ...type }));
      }),
    );
    return lists.flat();
  });
}

interface ListableType {
  readonly apiVersion: string;
  readonly kind: string;
}

async function listableTypes(cluster: Cluster): Promise<readonly ListableType[]> {
  const groups = await cluster.admin.request("GET", "/apis");
  const versions = arrayAt(groups, "groups").map((group) =>
    String(valueAt(group, "preferredVersion", "groupVersion")),
  );
  const paths = ["/api/v1", ...versions.map((version) => `/apis/${version}`)];
  const lists = await Promise.all(paths.map((path) => cluster.admin.request("GET", path)));
  return lists.flatMap((list) =>
    arrayAt(list, "resources")
      .filter((resource) => arrayAt(resource, "verbs").includes("list"))
      .map((resource) => ({
        apiVersion: String(valueAt(list, "groupVersion")),
        kind: String(valueAt(resource, "kind")),
      })),
  );
}

function arrayAt(value: unknown, field: string): readonly unknown[] {
  const found = valueAt(value, field);
  return Array.isArray(found) ? found : [];
}
