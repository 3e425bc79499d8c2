import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../../api/kubernetes.ts";
import { permissionsFor } from "../../../../cmd/kubectl/rights/permissions.ts";

function kindsOf(manifests: readonly Manifest[]): readonly string[] {
  return permissionsFor({ manifests, deletions: [] }).map(
    ({ group, resource }) => `${resource}.${group}`,
  );
}

describe("the ClusterRole of can-i --role", () => {
  test("a release without a kind does not ask for it, and one with a kind of its own does", () => {
    const object = { apiVersion: "example.com/v1", kind: "Policy", metadata: { name: "x" } };
    expect(kindsOf([])).not.toContain("images.caching.internal.knative.dev");
    expect(kindsOf([object])).toContain("policies.example.com");
  });
});

test("what patches delete needs the rights to find and to delete it", () => {
  const deletions = [{ apiVersion: "example.com/v1", kind: "Widget" }];
  const [widget] = permissionsFor({ manifests: [], deletions }).filter(
    ({ group }) => group === "example.com",
  );
  expect(widget).toMatchObject({ resource: "widgets", purpose: "install" });
  expect(widget?.verbs).toEqual(["get", "list", "watch", "delete"]);
});
