import { expect, test } from "vitest";

import {
  componentId,
  kindId,
  nameId,
  objectId,
  ownerSetId,
  setId,
  targetId,
  versionedKindId,
} from "../../api/keys.ts";

const metadata = { namespace: "team-a", name: "ks", uid: "1", resourceVersion: "1" };
const component = {
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeServing",
  metadata,
} as const;

function deployment(apiVersion: string) {
  return { apiVersion, kind: "Deployment", name: "web" };
}

test("an object and a kind have one id in all versions of their group", () => {
  expect(objectId(deployment("apps/v1"))).toBe(objectId(deployment("apps/v1beta1")));
  expect(kindId(deployment("apps/v1"))).toBe(kindId(deployment("apps/v1beta1")));
  expect(versionedKindId(deployment("apps/v1"))).not.toBe(
    versionedKindId(deployment("apps/v1beta1")),
  );
});

test("objects of other groups, kinds, namespaces or names have other ids", () => {
  const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "a", name: "web" };
  const others = [
    { ...key, apiVersion: "v1" },
    { ...key, kind: "DaemonSet" },
    { ...key, namespace: "b" },
    { ...key, name: "api" },
    { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
  ];
  expect(new Set([key, ...others].map(objectId)).size).toBe(6);
});

test("a name has its namespace in front, when there is one", () => {
  expect([
    nameId(metadata),
    nameId({ name: "cluster" }),
    nameId({ namespace: "", name: "a" }),
  ]).toEqual(["team-a/ks", "cluster", "a"]);
});

test("a component is for the cluster of its ClusterProfile, or for the hub", () => {
  const clusterProfileRef = { namespace: "fleet", name: "a" };
  expect(componentId(component)).toBe("KnativeServing team-a/ks");
  expect(targetId(component)).toBe("");
  expect(targetId({ ...component, spec: { clusterProfileRef } })).toBe("fleet/a");
});

test("an object belongs to the set of its labels", () => {
  const set = { kind: "KnativeServingSet", metadata: { ...metadata, name: "serving" } };
  const labels = { "knfleet.dev/set-kind": "KnativeServingSet", "knfleet.dev/set": "serving" };
  expect(setId(set)).toBe("KnativeServingSet team-a/serving");
  expect(ownerSetId(component)).toBeUndefined();
  expect(ownerSetId({ ...component, metadata: { ...metadata, labels } })).toBe(setId(set));
});
