import { describe, expect, test } from "vitest";

import type { OwnerReference } from "../../api/kubernetes.ts";
import { withOwners } from "../../render/namespace.ts";

describe("the owner", () => {
  const owner: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name: "root", uid: "u" };
  const set = withOwners(owner, "here");

  test.each([
    { metadata: { name: "a", namespace: "here" }, owners: [owner] },
    {
      metadata: { name: "a", namespace: "here", ownerReferences: [owner, owner] },
      owners: [owner],
    },
    { metadata: { name: "a" }, owners: undefined },
    { metadata: { name: "a", namespace: "istio-system", ownerReferences: [owner] } },
  ])("of $metadata.namespace/$metadata.name is $owners", ({ metadata, owners }) => {
    const { ownerReferences } = set({ apiVersion: "v1", kind: "Service", metadata }).metadata;
    expect(ownerReferences).toEqual(owners);
  });
});
