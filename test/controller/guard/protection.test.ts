import { expect, test } from "vitest";

import { protectionReasons } from "../../../api/reasons.ts";
import { hasDesiredFields } from "../../../controller/guard/policy-objects.ts";
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

test.each([
  ["what the server fills in", [{ a: 1, more: {} }, { a: 1 }], true],
  ["another value", [{ a: 2 }, { a: 1 }], false],
  ["a missing field", [{}, { a: 1 }], false],
  ["an entry too many in a list", [{ a: [1, 2] }, { a: [1] }], false],
  ["a list in another order", [{ a: [2, 1] }, { a: [1, 2] }], false],
  ["fields inside of lists", [{ a: [{ b: 1, c: 2 }] }, { a: [{ b: 1 }] }], true],
  ["nothing at all", [undefined, { a: 1 }], false],
] as const)("%s: an object says what is wanted", (_what, [live, wanted], same) => {
  expect(hasDesiredFields(live, wanted)).toBe(same);
});
