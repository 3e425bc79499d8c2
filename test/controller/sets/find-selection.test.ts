import { expect, test } from "vitest";

import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { findSelection, ocmLabels } from "../../../controller/sets/find-selection.ts";
import { SetWorld } from "../../sets/set-world.ts";
import { ocmSlice } from "./ocm-slice.ts";

interface ProfileOf {
  readonly namespace?: string;
  readonly cluster?: string;
  readonly manager?: string;
  /** Year of its creation. */
  readonly since?: number;
}

function profile(
  name: string,
  { namespace = "fleet", cluster, manager, since = 2026 }: ProfileOf,
): ClusterProfile {
  const labels: Readonly<Record<string, string>> =
    cluster === undefined ? {} : { [ocmLabels.cluster]: cluster };
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace,
      name,
      uid: name,
      resourceVersion: "1",
      labels,
      creationTimestamp: `${since}-01-01T00:00:00Z`,
    },
    ...(manager === undefined ? {} : { spec: { clusterManager: { name: manager } } }),
  };
}

/** The names of the clusters that a Placement with the one cluster `spoke` gives. */
function chosen(profiles: readonly ClusterProfile[]): readonly string[] {
  const { set } = new SetWorld({}, []);
  const clusters = { from: "OCMPlacement", ocmPlacement: { name: "prod" } } as const;
  const slice = ocmSlice("prod-1", { [ocmLabels.placement]: "prod" }, [{ clusterName: "spoke" }]);
  const selection = findSelection(
    { ...set, spec: { ...set.spec, clusters } },
    { profiles: () => profiles, placements: () => [slice] },
  );
  return selection.kind === "clusters" ? selection.clusters.map(({ name }) => name) : [];
}

const ocm = "open-cluster-management";

test.each<{ name: string; profiles: readonly ClusterProfile[]; is: string }>([
  {
    name: "has the label and is of Open Cluster Management",
    profiles: [
      profile("spoke", { cluster: "other", manager: ocm }),
      profile("a", { cluster: "spoke", manager: ocm }),
    ],
    is: "a",
  },
  {
    name: "is none that only has the label",
    profiles: [profile("a", { cluster: "spoke" })],
    is: "spoke",
  },
  {
    name: "is none that has the label and is of another cluster manager",
    profiles: [profile("a", { cluster: "spoke", manager: "copy" })],
    is: "spoke",
  },
  {
    name: "stays when another one gets the label and the name of the manager",
    profiles: [
      profile("spoke", { cluster: "spoke", manager: ocm }),
      profile("a", { cluster: "spoke", manager: ocm, since: 2025 }),
      profile("z", { cluster: "spoke", manager: ocm }),
    ],
    is: "spoke",
  },
  {
    name: "is the oldest when none has the name",
    profiles: [
      profile("a", { cluster: "spoke", manager: ocm }),
      profile("b", { cluster: "spoke", manager: ocm, since: 2025 }),
      profile("c", { cluster: "spoke", manager: ocm }),
    ],
    is: "b",
  },
  {
    name: "has the name and is of Open Cluster Management",
    profiles: [profile("spoke", { manager: ocm })],
    is: "spoke",
  },
  {
    name: "is none when the one with the name is for another cluster",
    profiles: [profile("spoke", { cluster: "other", manager: ocm })],
    is: "managedcluster:spoke",
  },
  {
    name: "is none when the one with the name is of another cluster manager",
    profiles: [profile("spoke", { manager: "rancher" })],
    is: "managedcluster:spoke",
  },
  { name: "keeps its name while it does not exist", profiles: [], is: "spoke" },
  {
    name: "is none of another namespace",
    profiles: [profile("a", { namespace: "other", cluster: "spoke", manager: ocm })],
    is: "spoke",
  },
])("the ClusterProfile of a ManagedCluster $name", ({ profiles, is }) => {
  expect(chosen(profiles)).toEqual([is]);
});

interface Labelled {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
}

/** What the PlacementDecisions of the Cluster Inventory API with these labels give, each with one cluster of its own name. */
function decided(placementDecision: object, slices: readonly Labelled[]) {
  const { set } = new SetWorld({}, []);
  const clusters = { from: "PlacementDecision", placementDecision } as const;
  const objects = slices.map(({ name, labels, namespace = "fleet" }) => ({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "PlacementDecision",
    metadata: {
      namespace,
      name,
      uid: name,
      resourceVersion: "1",
      ...(labels === undefined ? {} : { labels }),
    },
    decisions: [{ clusterProfileRef: { name } }],
  }));
  const selection = findSelection(
    { ...set, spec: { ...set.spec, clusters } },
    { profiles: () => [], placements: () => objects },
  );
  return selection.kind === "clusters"
    ? selection.clusters.map(({ name }) => name)
    : selection.reason;
}

test.each([
  { field: "decisionKey", label: "multicluster.x-k8s.io/decision-key" },
  { field: "placementKey", label: "multicluster.x-k8s.io/placement-key" },
])("$field selects the PlacementDecisions of the namespace with this label", ({ field, label }) => {
  const slices = [
    { name: "a", labels: { [label]: "prod" } },
    { name: "b", labels: { [label]: "test" } },
    { name: "c" },
    { name: "d", labels: { [label]: "prod" }, namespace: "other" },
  ];
  expect(decided({ [field]: "prod" }, slices)).toEqual(["a"]);
});

test("a key that no PlacementDecision has selects nothing by mistake", () => {
  expect(decided({ placementKey: "prod" }, [{ name: "a" }])).toBe("PlacementNotFound");
});

test("a cluster has the decision group of its slice, and a decision without a name gives none", () => {
  const { set } = new SetWorld({}, []);
  const clusters = { from: "OCMPlacement", ocmPlacement: { name: "prod" } } as const;
  const slices = [
    { name: "one", group: "canary", decisions: [{ clusterName: "a" }, {}, { clusterName: "" }] },
    { name: "two", group: "", decisions: [{ clusterName: "b" }, "no record"] },
  ].map(({ name, group, decisions }) =>
    ocmSlice(name, { [ocmLabels.placement]: "prod", [ocmLabels.group]: group }, decisions),
  );
  const sources = { profiles: () => [], placements: () => slices };
  expect(findSelection({ ...set, spec: { ...set.spec, clusters } }, sources)).toEqual({
    kind: "clusters",
    clusters: [
      { namespace: "fleet", name: "a", group: "canary" },
      { namespace: "fleet", name: "b" },
    ],
  });
});

test("a Placement without a PlacementDecision of its own cannot be used", () => {
  const { set } = new SetWorld({}, []);
  const clusters = { from: "OCMPlacement", ocmPlacement: { name: "prod" } } as const;
  const decisions = [{ clusterName: "a" }];
  const other = ocmSlice("one", { [ocmLabels.placement]: "other" }, decisions);
  const placements = () => [other, ocmSlice("one", {}, decisions)];
  const sources = { profiles: () => [], placements };
  expect(findSelection({ ...set, spec: { ...set.spec, clusters } }, sources)).toEqual({
    kind: "unusable",
    reason: "PlacementNotFound",
    message: "No PlacementDecision is for the Placement prod",
  });
});
