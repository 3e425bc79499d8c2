import { expect, test } from "vitest";

import { protectionReasons } from "../../../api/reasons.ts";
import { protectionCondition, sharingOf } from "../../../controller/guard/protection.ts";

test.each([
  ["system:serviceaccount:knfleet:hub", ["system:serviceaccounts"], /nobody/],
  ["knfleet-hub", ["system:authenticated"], /nobody/],
  ["kubernetes-super-admin", ["system:masters"], /system:masters/],
  ["anything", ["system:authenticated", "system:masters"], /system:masters/],
  ["jane@example.com", ["system:authenticated"], /person/],
  ["kubernetes-admin", ["kubeadm:cluster-admins"], /person/],
] as const)("%s in %j shares its identity: %s", (username, groups, text) => {
  expect(sharingOf({ username, groups }) ?? "nobody").toMatch(text);
});

test("each reason has one status of the condition, and no status is Unknown", () => {
  expect(new Set(Object.values(protectionReasons))).toEqual(new Set(["True", "False"]));
  const { type, status } = protectionCondition({ reason: "BindingMissing", message: "gone" });
  expect([type, status]).toEqual(["AnchorProtected", "False"]);
});
