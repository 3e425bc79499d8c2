import { describe, expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { managedClusterFor } from "../../../controller/pull/managed-cluster.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { hubWithNone } from "../dispatched-hub.ts";

const { signal } = new AbortController();
const ref = { namespace: "fleet", name: "spoke-1" };
const setLabel = "cluster.open-cluster-management.io/clusterset";

interface Case {
  /** `open-cluster-management.io/cluster-name` of the ClusterProfile; default: its own name. */
  readonly label?: string | undefined;
  readonly manager?: string;
  /** `--pull-namespace`; absent: nothing can be pulled. */
  readonly namespaces?: readonly string[];
  /** Labels of the ManagedCluster `prod`; absent: there is none. */
  readonly prod?: Readonly<Record<string, string>>;
  /** `spec.clusterSelector` of the ManagedClusterSet `blue`; absent: there is none. */
  readonly blue?: object;
  /** Name of the set that the namespace `fleet` is bound to. */
  readonly bound?: string;
  /** Since when the ClusterProfile is being deleted. */
  readonly leaving?: string;
  readonly isRemoval?: boolean;
}

/** What comes of the ClusterProfile `fleet/spoke-1`: its ManagedCluster, or why its cluster gets no works. */
async function answerTo(one: Case): Promise<string> {
  const { manager = "open-cluster-management", namespaces, prod, blue, bound } = one;
  const memory = new MemoryHub();
  const { deps } = hubWithNone({ memory });
  const label = "label" in one ? one.label : "spoke-1";
  const labels =
    label === undefined ? {} : { labels: { "open-cluster-management.io/cluster-name": label } };
  memory.edit("ClusterProfile", "spoke-1", {
    metadata: {
      ...ref,
      ...labels,
      ...(one.leaving === undefined ? {} : { deletionTimestamp: one.leaving }),
    },
    spec: { clusterManager: { name: manager } },
  });
  if (prod !== undefined) {
    memory.edit("ManagedCluster", "prod", { metadata: { name: "prod", labels: prod } });
  }
  if (blue !== undefined)
    memory.edit("ManagedClusterSet", "blue", { spec: { clusterSelector: blue } });
  if (bound !== undefined) {
    memory.edit("ManagedClusterSetBinding", bound, { spec: { clusterSet: bound } });
  }
  const hub = { ...deps.hub, list: memory.list };
  const watch = { open: () => undefined };
  const pull =
    namespaces === undefined
      ? {}
      : { pull: { mode: "Auto", agentImage: "image", namespaces, watch } as const };
  try {
    const { isRemoval = false } = one;
    return await managedClusterFor({ ...ref, isRemoval }, { ...deps, hub, ...pull }, signal);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
}

const namespaces = ["fleet"];
const taken = { namespaces, label: "prod" };
const notIts =
  "ReferenceNotPermitted: ClusterProfile fleet/spoke-1 is labelled as ManagedCluster prod, whose name it does not have, and no ManagedClusterSetBinding of its namespace holds a set with that cluster";

test.each<readonly [string, Case, string]>([
  ["its name is the ManagedCluster's", { namespaces }, "spoke-1"],
  [
    "it is being deleted",
    { namespaces, leaving: "2026-01-01T00:00:00Z" },
    "ClusterProfileNotReady: ClusterProfile fleet/spoke-1 is being deleted since 2026-01-01T00:00:00Z, and a finalizer holds it",
  ],
  [
    "it is being deleted, and what is there is to be removed",
    { namespaces, leaving: "2026-01-01T00:00:00Z", isRemoval: true },
    "spoke-1",
  ],
  [
    "its namespace is not on the list",
    { namespaces: ["other"] },
    'ReferenceNotPermitted: Clusters of ClusterProfiles in namespace "fleet" may not pull (--pull-namespace)',
  ],
  [
    "there is no list",
    {},
    'ReferenceNotPermitted: Clusters of ClusterProfiles in namespace "fleet" may not pull (--pull-namespace)',
  ],
  [
    "it has no label",
    { namespaces, label: undefined },
    "AccessProviderFailed: [NotManagedByOCM] ClusterProfile fleet/spoke-1 has no label open-cluster-management.io/cluster-name",
  ],
  [
    "it is of another manager, whose name moves the cursor",
    { namespaces, manager: "mine\u001b[2J" },
    'AccessProviderFailed: [NotManagedByOCM] ClusterProfile fleet/spoke-1 is of the cluster manager "mine", and not of open-cluster-management',
  ],
  ["its label names another cluster", { ...taken, prod: {} }, notIts],
  ["its label names a cluster that is not there", { ...taken, bound: "blue", blue: {} }, notIts],
  [
    "its namespace is bound to the set of its cluster",
    { ...taken, prod: { [setLabel]: "blue" }, blue: {}, bound: "blue" },
    "prod",
  ],
  [
    "its namespace is bound to a set that selects its cluster",
    {
      ...taken,
      prod: { ring: "a", zone: "b" },
      blue: {
        selectorType: "LabelSelector",
        labelSelector: {
          matchLabels: { ring: "a" },
          matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }],
        },
      },
      bound: "blue",
    },
    "prod",
  ],
  [
    "the set that its namespace is bound to selects other clusters",
    {
      ...taken,
      prod: { ring: "b", [setLabel]: "blue" },
      blue: { selectorType: "LabelSelector", labelSelector: { matchLabels: { ring: "a" } } },
      bound: "blue",
    },
    notIts,
  ],
  [
    "its namespace is bound to another set",
    { ...taken, prod: { [setLabel]: "red" }, blue: {}, bound: "blue" },
    notIts,
  ],
  ["the set is gone", { ...taken, prod: { [setLabel]: "blue" }, bound: "blue" }, notIts],
])("the ManagedCluster of a ClusterProfile when %s", async (_, one, answer) => {
  expect(await answerTo(one)).toBe(answer);
});

/** The ManagedCluster as a hub answers that lists like this. */
function clusterOf(list: MemoryHub["list"]): Promise<string> {
  const { deps } = hubWithNone();
  return managedClusterFor(ref, { hub: { ...deps.hub, list }, references: undefined }, signal);
}

describe("the ManagedCluster of a ClusterProfile", () => {
  test("is not known while the hub answers errors", async () => {
    const memory = new MemoryHub();
    memory.fail();
    await expect(clusterOf(memory.list)).rejects.toMatchObject({
      reason: "ClusterProfileUnavailable",
      cause: { status: 500 },
    });
  });

  test("is not known for a bug, which stays what it is", async () => {
    const bug = new TypeError("bug");
    await expect(clusterOf(() => Promise.reject(bug))).rejects.toBe(bug);
  });
});
