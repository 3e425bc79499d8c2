import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";
import { parseDocument } from "yaml";

import { listAt, recordAt } from "../../../../../api/fields.ts";
import { spokeRights } from "../../../../../cmd/kubectl/rights/permissions.ts";

const path = join(import.meta.dirname, "../../../../../docs/spoke-role.yaml");
const role: unknown = parseDocument(readFileSync(path, "utf8")).toJS();
const granted = listAt(recordAt(role), "rules").flatMap((rule) => {
  const { apiGroups, resources, verbs } = recordAt(rule);
  return listOf(apiGroups).flatMap((group) =>
    listOf(resources).flatMap((resource) =>
      listOf(verbs).map((verb) => `${group}/${resource} ${verb}`),
    ),
  );
});

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

test("every right that is asked for is in the role of docs/spoke-role.yaml", () => {
  const asked = spokeRights.flatMap(({ group, resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
  );
  expect(asked.filter((right) => !granted.includes(right))).toEqual([]);
  expect(asked.length).toBeGreaterThan(100);
});

test("the role has no right to replace what is only applied, and none to requests that there are not", () => {
  const policies = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"];
  expect(granted.filter((right) => right.endsWith(" update"))).toEqual([
    // No request: the API server asks for it when the anchor becomes an owner.
    "/configmaps/finalizers update",
    ...policies.map((policy) => `admissionregistration.k8s.io/${policy} update`),
  ]);
  expect(granted.filter((right) => right.startsWith("/pods/log "))).toEqual(["/pods/log get"]);
});
