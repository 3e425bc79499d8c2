import { expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { deletionSentence } from "../../../sets/status/deletion.ts";
import { serving } from "../../support/component.ts";

const lastTransitionTime = "2026-11-25T12:00:00Z";

function child(cluster: string, conditions: readonly Condition[], isDeleted = true): Component {
  const deletion = isDeleted ? { deletionTimestamp: lastTransitionTime } : {};
  return serving({
    metadata: { name: `prod-${cluster}`, ...deletion },
    spec: { clusterProfileRef: { namespace: "fleet", name: cluster } },
    status: { conditions: conditions.map((one) => ({ ...one, lastTransitionTime })) },
  });
}

const removing = {
  type: "Ready",
  status: "Unknown",
  reason: "Finalizing",
  message: "34 of 150 objects left",
} as const;
const dark = {
  type: "TargetClusterResolved",
  status: "Unknown",
  reason: "SpokeUnreachable",
  message: "eu-3 does not answer",
} as const;

test("a deleted set waits for nothing while no component of it is being deleted", () => {
  expect(deletionSentence([])).toBeUndefined();
  expect(deletionSentence([child("eu-1", [removing], false)])).toBeUndefined();
});

test("a deleted set names the clusters for which it waits, and what holds the first one up", () => {
  expect(deletionSentence([child("eu-1", [removing])])).toBe(
    "The set is deleted and waits for fleet/eu-1. fleet/eu-1: 34 of 150 objects left",
  );
  const others = ["eu-1", "eu-2", "eu-4", "eu-5"].map((name) => child(name, [removing]));
  expect(deletionSentence([...others, child("eu-3", [removing, dark])])).toBe(
    "The set is deleted and waits for fleet/eu-3, fleet/eu-1, fleet/eu-2 and 2 more. fleet/eu-3: eu-3 does not answer",
  );
});
