import { describe, expect, test } from "vitest";

import type { ClusterProfile } from "../../../../../../api/cluster-profile.ts";
import type { FleetSet } from "../../../../../../api/fleet-set.ts";
import type { KubeObject, ObjectMeta } from "../../../../../../api/kubernetes.ts";
import {
  hubRemovals,
  refusedRemoval,
  type RemovalFacts,
  spokeRemovals,
} from "../../../../../../cmd/kubectl/commands/register/unregister/removal.ts";
import { stamps } from "../../../../../../cmd/kubectl/commands/register/unregister/selecting-sets.ts";

const labels = { "app.kubernetes.io/managed-by": "knfleet-register" };
const own = {
  labels,
  annotations: { "knfleet.dev/cluster-profile": "fleet/eu-1", "knfleet.dev/hub-uid": "hub-uid" },
};
const profile: ClusterProfile = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: {
    namespace: "fleet",
    name: "eu-1",
    uid: "profile",
    resourceVersion: "1",
    annotations: {
      "knfleet.dev/registered-context": "eu-1",
      "knfleet.dev/cluster-uid": "spoke-uid",
      "knfleet.dev/service-account": "knfleet/knfleet-hub",
      "knfleet.dev/credential-secret": "fleet-credentials/eu-1",
    },
  },
  spec: { clusterManager: { name: "knfleet-register" } },
};

function object(
  kind: string,
  name: string,
  { metadata, ...others }: { readonly metadata?: ObjectMeta; readonly roleRef?: object } = {},
): KubeObject {
  const meta = { ...metadata, name, uid: `${kind}/${name}`, resourceVersion: "1" };
  return { apiVersion: "v1", kind, metadata: meta, ...others };
}

const roleRef = { name: "knfleet-spoke" };
const token = object("Secret", "knfleet-hub-token-abc", {
  metadata: {
    labels,
    annotations: { ...own.annotations, "kubernetes.io/service-account.name": "knfleet-hub" },
  },
});
const account = object("ServiceAccount", "knfleet-hub", { metadata: own });
const binding = object("ClusterRoleBinding", "knfleet-hub", { metadata: own, roleRef });
const usual = [object("ServiceAccount", "default"), object("ConfigMap", "kube-root-ca.crt")];
const contents = (...objects: readonly KubeObject[]) => ({ objects, unread: [] });
const facts: RemovalFacts = {
  context: "eu-1",
  uid: "spoke-uid",
  hubUid: "hub-uid",
  account,
  binding,
  role: object("ClusterRole", "knfleet-spoke", { metadata: { labels } }),
  bindings: [binding],
  namespace: object("Namespace", "knfleet", { metadata: { labels } }),
  contents: contents(token, account, ...usual),
};

function names(changes: Partial<RemovalFacts>): readonly string[] {
  const found = spokeRemovals(profile, { ...facts, ...changes });
  if ("error" in found) return [found.error];
  const { objects, namespace } = found;
  return [...objects, ...(namespace === undefined ? [] : [namespace])].map(
    ({ metadata }) => metadata.uid,
  );
}

const other = {
  labels,
  annotations: { "knfleet.dev/cluster-profile": "fleet/eu-2", "knfleet.dev/hub-uid": "hub-uid" },
};

describe("unregister deletes on the spoke", () => {
  const [first, second, third] = [binding, token, account].map(({ metadata }) => metadata.uid);
  const identity = [first, second, third];
  test.each([
    {
      name: "everything that register made",
      changes: {},
      deleted: [...identity, "ClusterRole/knfleet-spoke", "Namespace/knfleet"],
    },
    {
      name: "no role that another binding names",
      changes: { bindings: [binding, object("ClusterRoleBinding", "other", { roleRef })] },
      deleted: [...identity, "Namespace/knfleet"],
    },
    {
      name: "no role that a binding of a namespace names",
      changes: {
        bindings: [
          binding,
          object("RoleBinding", "other", {
            metadata: { namespace: "team-a" },
            roleRef: { ...roleRef, kind: "ClusterRole" },
          }),
        ],
      },
      deleted: [...identity, "Namespace/knfleet"],
    },
    {
      name: "the role beside a binding to a Role of its name",
      changes: {
        bindings: [
          object("RoleBinding", "other", {
            metadata: { namespace: "team-a" },
            roleRef: { ...roleRef, kind: "Role" },
          }),
        ],
      },
      deleted: [...identity, "ClusterRole/knfleet-spoke", "Namespace/knfleet"],
    },
    {
      name: "no role and no namespace that somebody else made",
      changes: {
        role: object("ClusterRole", "knfleet-spoke"),
        namespace: object("Namespace", "knfleet"),
      },
      deleted: identity,
    },
    {
      name: "no namespace in which something else is",
      changes: { contents: contents(token, account, ...usual, object("Pod", "mine")) },
      deleted: [...identity, "ClusterRole/knfleet-spoke"],
    },
    {
      name: "no namespace in which something may be that could not be listed",
      changes: { contents: { ...facts.contents, unread: ["leases.coordination.k8s.io"] } },
      deleted: [...identity, "ClusterRole/knfleet-spoke"],
    },
    {
      name: "nothing of a registration when the uid of the hub is not known",
      changes: { hubUid: "" },
      deleted: [],
    },
    {
      name: "no account of another registration, nor its tokens",
      changes: { account: object("ServiceAccount", "knfleet-hub", { metadata: other }) },
      deleted: [first, "ClusterRole/knfleet-spoke"],
    },
    {
      name: "what is left of an earlier try",
      changes: {
        account: undefined,
        binding: undefined,
        bindings: [],
        contents: contents(...usual),
      },
      deleted: ["ClusterRole/knfleet-spoke", "Namespace/knfleet"],
    },
  ])("$name", ({ changes, deleted }) => expect(names(changes)).toEqual(deleted));

  test.each(["another", ""])("nothing of another cluster (uid '%s')", (uid) =>
    expect(names({ uid })).toEqual([expect.stringMatching(/another cluster/)]),
  );

  test("nothing when neither the cluster nor the registration has a uid", () => {
    const annotations = { ...profile.metadata.annotations, "knfleet.dev/cluster-uid": "" };
    const nameless = { ...profile, metadata: { ...profile.metadata, annotations } };
    expect(spokeRemovals(nameless, { ...facts, uid: "" })).toMatchObject({
      error: expect.stringMatching(/another cluster/),
    });
  });

  test("no namespace of others, and says what is in it", () => {
    const pods = ["a", "b", "c", "d"].map((name) => object("Pod", name));
    const theirs = [...pods, object("PersistentVolumeClaim", "data")];
    const found = spokeRemovals(profile, {
      ...facts,
      contents: { objects: [token, account, ...usual, ...theirs], unread: ["leases"] },
    });
    expect("warnings" in found && found.warnings).toEqual([
      "Namespace knfleet of the cluster stays: it holds PersistentVolumeClaim data; Pod a, b, c and 1 more; could not list leases",
    ]);
  });
});

test("unregister deletes the Secret of the profile and the profile, in this order", () => {
  const annotations = { "knfleet.dev/cluster-profile": "fleet/eu-1" };
  const secret = object("Secret", "eu-1", { metadata: { labels, annotations } });
  expect(hubRemovals(profile, secret)).toEqual([secret, profile]);
  expect(hubRemovals(profile, object("Secret", "eu-1"))).toEqual([profile]);
  expect(hubRemovals(profile, object("Secret", "eu-1", { metadata: other }))).toEqual([profile]);
  expect(hubRemovals(profile, undefined)).toEqual([profile]);
});

const set: FleetSet = {
  apiVersion: "knfleet.dev/v1alpha1",
  kind: "KnativeServingSet",
  metadata: { namespace: "fleet", name: "prod", uid: "set", resourceVersion: "1" },
  spec: {
    adoption: "Never",
    deletionPolicy: "Orphan",
    revisionHistoryLimit: 10,
    clusters: { from: "Selector", selector: { matchLabels: { env: "prod" } } },
    template: {},
  },
};

describe("a set makes a deleted component again", () => {
  const { metadata, spec } = set;
  const prodLabels = { env: "prod", "open-cluster-management.io/cluster-name": "eu-1" };
  const prod = { ...profile, metadata: { ...profile.metadata, labels: prodLabels } };
  const placed: FleetSet = {
    ...set,
    spec: { ...spec, clusters: { from: "OCMPlacement", ocmPlacement: { name: "all" } } },
  };
  const decision = {
    ...object("PlacementDecision", "all-1", {
      metadata: {
        namespace: "fleet",
        labels: { "cluster.open-cluster-management.io/placement": "all" },
      },
    }),
    status: { decisions: [{ clusterName: "eu-1" }] },
  };
  test.each([
    { name: "whose selector matches", of: set, is: true },
    {
      name: "whose Placement names the cluster",
      of: placed,
      on: { ...prod, spec: { clusterManager: { name: "open-cluster-management" } } },
      placements: [decision],
      is: true,
    },
    {
      name: "but not one whose Placement names a cluster of Open Cluster Management with this label",
      of: placed,
      placements: [decision],
      is: false,
    },
    { name: "but not one whose Placement may not be read", of: placed, is: false },
    {
      name: "but not one whose selector does not match",
      of: set,
      on: { ...prod, metadata: { ...prod.metadata, labels: { env: "lab" } } },
      is: false,
    },
    {
      name: "but not on a cluster that is held",
      of: set,
      on: {
        ...prod,
        metadata: { ...prod.metadata, labels: { ...prodLabels, "knfleet.dev/hold": "true" } },
      },
      is: false,
    },
    {
      name: "but not on a cluster that it excludes",
      of: {
        ...set,
        spec: { ...spec, clusters: { ...spec.clusters, exclude: [{ name: "eu-1" }] } },
      },
      is: false,
    },
    {
      name: "but not one that is being deleted",
      of: { ...set, metadata: { ...metadata, deletionTimestamp: "2026-11-01T00:00:00Z" } },
      is: false,
    },
  ])("$name", ({ of, on = prod, placements, is }) => expect(stamps(of, on, placements)).toBe(is));
});

describe("unregister is refused", () => {
  const none = { users: [], sets: [], unlisted: [] };
  test("for a profile of another manager", () => {
    const foreign = { ...profile, spec: { clusterManager: { name: "by-hand" } } };
    expect(refusedRemoval(foreign, none)[0]?.error).toMatch(/"by-hand"/);
  });

  test("while components use the profile, with their names", () => {
    const user = { kind: "KnativeServing", namespace: "team-a", name: "knative-serving" } as const;
    const [refusal] = refusedRemoval(profile, { users: [user], sets: [], unlisted: [] });
    expect(refusal?.error).toMatch(/in use by KnativeServing team-a\/knative-serving/);
    expect(refusal?.next).toContain("kubectl delete knativeserving knative-serving -n team-a");
    expect(refusedRemoval(profile, none)).toEqual([]);
  });

  test("while components use the profile, and says when the sets that make them may not be read", () => {
    const user = { kind: "KnativeServing", namespace: "team-a", name: "knative-serving" } as const;
    const unlisted = [{ group: "knfleet.dev", resource: "knativeservingsets", verb: "list" }];
    const [refusal] = refusedRemoval(profile, { users: [user], sets: [], unlisted });
    expect(refusal?.next[0]).toBe(
      "Whether a fleet set would make a deleted component again could not be read, for want of the right to list knativeservingsets.knfleet.dev on the hub.",
    );
  });

  test("while a set selects the cluster, with the label that keeps it from sets before the deletion", () => {
    const user = { kind: "KnativeServing", namespace: "fleet", name: "prod-eu-1" } as const;
    const [refusal] = refusedRemoval(profile, { users: [user], sets: [set], unlisted: [] });
    expect(refusal?.next).toEqual([
      "The cluster is selected by KnativeServingSet fleet/prod, which would make a deleted component again. Keep the cluster from all sets first:",
      "kubectl label clusterprofiles.multicluster.x-k8s.io eu-1 -n fleet knfleet.dev/hold=true",
      "Delete the components then; that removes Knative from the cluster:",
      "kubectl delete knativeserving prod-eu-1 -n fleet",
    ]);
  });
});
