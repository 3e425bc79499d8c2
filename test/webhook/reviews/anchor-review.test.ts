import { describe, expect, test } from "vitest";

import { anchorAnnotations, guardAnnotations, guardLabels } from "../../../installation/anchor.ts";
import type { GuardOwner } from "../../../installation/guard/guard-view.ts";
import { anchorReview } from "../../../webhook/reviews/anchor-review.ts";
import { anchorRequest, type Asked } from "../anchor-request.ts";

const hubA = "11111111-2222-3333-4444-555555555555";
const hubB = "66666666-7777-8888-9999-000000000000";

// As the flags say it: an entry for each user.
const owners: readonly GuardOwner[] = [
  { hubId: hubA, hubUsers: ["a"] },
  { hubId: hubB, hubUsers: ["elsewhere"] },
  { hubId: hubA, hubUsers: ["b"] },
];

// The namespace of the anchors, which nobody deletes.
const live = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "guarded", uid: "n", resourceVersion: "1" },
};

/** What the webhook says to a user who wants something; undefined: nothing against it. */
async function refusalOf(username: string, asked: Asked): Promise<string | undefined> {
  const review = anchorReview({
    client: { get: async () => live },
    accessReviews: { may: async () => false },
    owners,
  });
  const request = anchorRequest(username, asked);
  const { violations } = await review(request, AbortSignal.timeout(10_000));
  expect(violations.length).toBeLessThanOrEqual(1);
  return violations[0]?.message;
}

const anchorOf = (hubId: string, metadata: object = {}) => ({
  metadata: {
    name: "anchor",
    uid: "u",
    annotations: { [anchorAnnotations.protected]: "true", [anchorAnnotations.hubId]: hubId },
    ...metadata,
  },
});

const namespaceOf = (labels: object) => ({ metadata: { name: "guarded", uid: "u", labels } });
const inHouse = { resource: { group: "", version: "v1", resource: "namespaces" } };
const definitions = "customresourcedefinitions";
const asDefinition = {
  resource: { group: "apiextensions.k8s.io", version: "v1", resource: definitions },
};

const created = (object: Asked["object"]): Asked => ({
  operation: "CREATE",
  object,
  oldObject: undefined,
});
const removed = (oldObject: Asked["oldObject"]): Asked => ({
  operation: "DELETE",
  object: undefined,
  oldObject,
});
const changed = (oldObject: Asked["oldObject"], object: Asked["object"]): Asked => ({
  operation: "UPDATE",
  object,
  oldObject,
});

describe("a hub with several users", () => {
  const guardedHouse = namespaceOf({ [guardLabels.namespace]: hubA });
  const guardedDefinition = namespaceOf({ [guardLabels.crd]: hubA });
  const acts = [
    ["creates an anchor", created(anchorOf(hubA))],
    ["takes the marks off", changed(anchorOf(hubA), anchorOf(hubA, { annotations: {} }))],
    ["deletes an anchor", removed(anchorOf(hubA))],
    ["marks a namespace", { ...inHouse, ...created(guardedHouse) }],
    ["frees a namespace", { ...inHouse, ...changed(guardedHouse, namespaceOf({})) }],
    ["deletes a namespace", { ...inHouse, ...removed(guardedHouse) }],
    ["frees a CRD", { ...asDefinition, ...changed(guardedDefinition, namespaceOf({})) }],
    ["deletes a CRD", { ...asDefinition, ...removed(guardedDefinition) }],
  ] as const satisfies readonly (readonly [string, Asked])[];

  test.each(acts)("each of them %s, and nobody else does", async (_title, asked) => {
    expect(await refusalOf("a", asked)).toBeUndefined();
    expect(await refusalOf("b", asked)).toBeUndefined();
    for (const other of ["elsewhere", "c", "", "a,b"]) {
      expect(await refusalOf(other, asked)).toContain(hubA);
    }
  });

  test("each of them is held to what its controller may not do, and gets the proof by a dry run", async () => {
    const owned = created(anchorOf(hubA, { ownerReferences: [{ uid: "o" }] }));
    const probe = { ...removed(anchorOf(hubA)), dryRun: true };
    const annotations = { ...anchorOf(hubA).metadata.annotations, [guardAnnotations.probe]: "1" };
    for (const user of ["a", "b"]) {
      expect(await refusalOf(user, owned)).toBe("an anchor must not have ownerReferences");
      expect(await refusalOf(user, probe)).toMatch(/probe: denied as intended \(DELETE\)$/);
      const asked = created(anchorOf(hubA, { annotations }));
      expect(await refusalOf(user, asked)).toMatch(/probe: denied as intended \(CREATE\)$/);
    }
  });

  test("none of them touches what is another hub's, nor hands over in one step", async () => {
    for (const user of ["a", "b"]) {
      expect(await refusalOf(user, created(anchorOf(hubB)))).toContain(hubB);
      expect(await refusalOf(user, changed(anchorOf(hubB), anchorOf(hubA)))).toContain(hubB);
      expect(await refusalOf(user, changed(anchorOf(hubA), anchorOf(hubB)))).toContain(hubB);
    }
    expect(await refusalOf("elsewhere", created(anchorOf(hubB)))).toBeUndefined();
  });
});
