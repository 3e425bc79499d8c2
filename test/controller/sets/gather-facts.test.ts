import { expect, test } from "vitest";

import { hubWith, SetHub } from "./set-hub.ts";

test.each([
  { namespace: "fleet", why: undefined },
  {
    namespace: "other",
    why: "The PlacementDecision names a ClusterProfile of namespace other, and a set may have those of its own namespace",
  },
])(
  "a PlacementDecision gives a set a cluster of namespace $namespace: $why",
  ({ namespace, why }) => {
    const hub = new SetHub();
    const placementDecision = { placementKey: "prod" };
    const key = hub.putSet({ clusters: { from: "PlacementDecision", placementDecision } });
    hub.put({
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "PlacementDecision",
      metadata: {
        namespace: "fleet",
        name: "one",
        labels: { "multicluster.x-k8s.io/placement-key": "prod" },
      },
      decisions: [{ clusterProfileRef: { namespace, name: "a" } }],
    });
    const obstacle = hub.facts(key)?.obstacles.get(`${namespace}/a`);
    expect(obstacle).toEqual(
      why === undefined ? undefined : { reason: "NotPermitted", message: why },
    );
  },
);

test("a selector may select a cluster of another namespace", () => {
  const hub = new SetHub();
  hub.put({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "other", name: "a" },
  });
  const key = hub.putSet({ clusters: { from: "Selector", selector: { namespaces: ["other"] } } });
  expect(hub.facts(key)?.selection).toEqual({
    kind: "clusters",
    clusters: [{ namespace: "other", name: "a" }],
  });
  expect(hub.facts(key)?.obstacles.size).toBe(0);
});

const component = (name: string, creationTimestamp: string) => ({
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeServing",
  metadata: { namespace: "fleet", name, creationTimestamp },
  spec: { clusterProfileRef: { namespace: "fleet", name: "a" }, version: "1.22.0" },
});

test("of two components on a cluster the older one is taken over", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  hub.put(component("younger", "2026-11-02T00:00:00Z"));
  hub.put(component("older", "2026-11-01T00:00:00Z"));
  const key = hub.putSet({ adoption: "Always" });
  expect(hub.facts(key)?.children.map(({ metadata }) => metadata.name)).toEqual(["older"]);
});

test("the revisions of an earlier set of the same name are not those of a set", async () => {
  const { hub, key } = await hubWith(["a"]);
  expect(hub.facts(key)?.revisions).toHaveLength(1);
  hub.drop("KnativeServingSet", "prod");
  hub.putSet({}, { uid: "second" });
  expect(hub.facts(key)?.revisions).toEqual([]);
});
