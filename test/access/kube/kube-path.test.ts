import { expect, test } from "vitest";

import { collectionPath, objectPath } from "../../../access/kube/kube-path.ts";
import { knownResource } from "../../../api/resources.ts";

const clusterRole = knownResource("rbac.authorization.k8s.io/v1", "ClusterRole");
const configMap = knownResource("v1", "ConfigMap");

test("a colon of a name stays as it is: proxies that decode a path twice refuse %3A", () => {
  expect(objectPath({ resource: clusterRole, name: "system:controller:x" }, undefined, {})).toBe(
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:x",
  );
});

test("what would end a segment or a path is escaped", () => {
  const path = objectPath(
    { resource: configMap, namespace: "a/b", name: "c?d#e%3A" },
    "status",
    {},
  );
  expect(path).toBe("/api/v1/namespaces/a%2Fb/configmaps/c%3Fd%23e%253A/status");
});

test("the query of a collection is escaped as a query", () => {
  const ref = { resource: configMap, namespace: "a", labelSelector: "k=v,m" };
  expect(collectionPath(ref, { limit: 1 })).toBe(
    "/api/v1/namespaces/a/configmaps?labelSelector=k%3Dv%2Cm&limit=1",
  );
});
