import { expect, test } from "vitest";

import { missingRightIn } from "../../../access/kube/missing-right.ts";

const who = 'User "system:serviceaccount:knfleet:knfleet-hub"';

test.each([
  {
    message: `configmaps "a" is forbidden: ${who} cannot patch resource "configmaps" in API group "" in the namespace "b"`,
    right: "the right to patch configmaps in namespace b",
  },
  {
    message: `clusterroles.rbac.authorization.k8s.io is forbidden: ${who} cannot deletecollection resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope`,
    right: "the right to deletecollection clusterroles.rbac.authorization.k8s.io",
  },
  {
    message: `${who} cannot update resource "configmaps/finalizers" in API group "" in the namespace "b"`,
    right: "the right to update configmaps/finalizers in namespace b",
  },
  { message: `forbidden: ${who} cannot get path "/metrics"`, right: undefined },
  { message: `cannot get resource "a\nb" in API group ""`, right: undefined },
  { message: "exceeded quota", right: undefined },
])("$message lacks $right", ({ message, right }) => {
  expect(missingRightIn(message)).toBe(right);
});
