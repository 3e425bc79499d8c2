import { expect, test } from "vitest";

import { componentKinds } from "../../../api/component.ts";
import { targetId } from "../../../api/keys.ts";
import {
  assertOnlyOne,
  isLatecomer,
  olderDuplicateOf,
} from "../../../controller/reconcile/claims.ts";
import { serving } from "../../support/component.ts";
import { componentsOf } from "../../support/components.ts";

const ref = { namespace: "fleet", name: "a" };
const older = serving({
  metadata: { name: "older", uid: "b", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { clusterProfileRef: ref },
});
const younger = serving({
  metadata: { name: "younger", uid: "a", creationTimestamp: "2026-01-02T00:00:00Z" },
  spec: { clusterProfileRef: ref },
});
const elsewhere = serving({ metadata: { name: "elsewhere", uid: "c" } });

test("the older one of two components on one cluster has it", () => {
  expect(olderDuplicateOf(younger, [older, younger, elsewhere])).toBe(older);
  expect(olderDuplicateOf(older, [older, younger, elsewhere])).toBeUndefined();
});

test("of two components of one age the smaller uid has the cluster", () => {
  const { creationTimestamp } = younger.metadata;
  const twin = { ...older, metadata: { ...older.metadata, creationTimestamp } };
  expect(olderDuplicateOf(twin, [twin, younger])).toBe(younger);
});

test("of two components of one age the one that was taken up keeps the cluster", () => {
  const { creationTimestamp } = younger.metadata;
  const conditions = [{ type: "Ready", status: "Unknown" }] as const;
  const taken = {
    ...older,
    metadata: { ...older.metadata, creationTimestamp },
    status: { conditions },
  };
  expect(olderDuplicateOf(taken, [taken, younger])).toBeUndefined();
  expect(olderDuplicateOf(younger, [taken, younger])).toBe(taken);
  const refusal = { type: "Ready", status: "False", reason: "DuplicateComponent" } as const;
  const refused = { ...younger, status: { conditions: [refusal] } };
  expect(olderDuplicateOf(taken, [taken, refused])).toBeUndefined();
  expect(olderDuplicateOf(refused, [taken, refused])).toBe(taken);
});

test("a component that was refused before its install is younger than all others, until it is installed", () => {
  const { finalizer } = componentKinds.KnativeServing;
  const refusal = { type: "Ready", status: "False", reason: "ReferenceNotPermitted" } as const;
  const late = { ...older, status: { conditions: [refusal] } };
  expect(isLatecomer(late)).toBe(true);
  expect(olderDuplicateOf(younger, [late, younger])).toBeUndefined();
  expect(olderDuplicateOf(late, [late, younger])).toBe(younger);
  // With a finalizer anybody can create a component; what was done for it only its status tells.
  const disguised = { ...late, metadata: { ...late.metadata, finalizers: [finalizer] } };
  expect(isLatecomer(disguised)).toBe(true);
  expect(olderDuplicateOf(younger, [disguised, younger])).toBeUndefined();
  const blocked = {
    type: "InstallSucceeded",
    status: "False",
    reason: "DuplicateComponent",
  } as const;
  expect(isLatecomer({ ...disguised, status: { conditions: [blocked] } })).toBe(true);
  const begun = { type: "InstallSucceeded", status: "Unknown", reason: "Installing" } as const;
  const taken = { ...disguised, status: { conditions: [refusal, begun] } };
  expect(isLatecomer(taken)).toBe(false);
  expect(olderDuplicateOf(younger, [taken, younger])).toBe(taken);
});

test("a component that waits for its cluster keeps its age", () => {
  const missing = { type: "Ready", status: "False", reason: "ClusterProfileNotFound" } as const;
  const waiting = { ...older, status: { conditions: [missing] } };
  expect(isLatecomer(waiting)).toBe(false);
  expect(olderDuplicateOf(younger, [waiting, younger])).toBe(waiting);
});

test("the error names the older component", () => {
  expect(() =>
    assertOnlyOne(younger, { components: componentsOf(() => [older, younger]) }),
  ).toThrow(
    expect.objectContaining({
      reason: "DuplicateComponent",
      message: "KnativeServing knative-serving/older is installed on the same cluster already",
    }),
  );
});

test("a component without a reference is for the hub", () => {
  expect(targetId(elsewhere)).toBe("");
  expect(targetId(older)).toBe("fleet/a");
});
