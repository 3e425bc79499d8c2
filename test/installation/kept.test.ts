import { describe, expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { type Manifest } from "../../api/kubernetes.ts";
import { prepare } from "../../installation/desired.ts";
import type { Inventory, InventoryEntry } from "../../installation/inventory.ts";
import { keptBy } from "../../installation/kept.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import { type ObjectFacts, planInstall } from "../../installation/plan.ts";

const configMap = (name: string, value: string): Manifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "knative-serving", name },
  data: { value },
});
const desiredOf = (...manifests: readonly Manifest[]) => prepare({ version: "1.22.1", manifests });

const old = desiredOf(configMap("same", "a"), configMap("changed", "a"), configMap("gone", "a"));
const rendered = desiredOf(
  configMap("same", "a"),
  configMap("changed", "b"),
  configMap("new", "b"),
);

function inventoryOf(change: Partial<Record<string, Partial<InventoryEntry>>> = {}): Inventory {
  const entries = old.objects.map(({ key, hash }) => ({
    ...key,
    hash,
    fingerprint: "ours",
    ...change[key.name],
  }));
  return { version: "1.22.0", complete: true, entries };
}

const namesOf = (all: readonly { readonly key: { readonly name: string } }[]) =>
  all.map(({ key }) => key.name).toSorted();

/** Plans for an installation that keeps what it has; `live` is the fingerprint of each object on the cluster. */
function planned(inventory: Inventory, live: Readonly<Record<string, string | undefined>> = {}) {
  const kept = keptBy(rendered, inventory);
  const observed = new Map<string, ObservedObject>();
  for (const entry of inventory.entries) {
    const { hash: _, fingerprint: __, ...key } = entry;
    const fingerprint = Object.hasOwn(live, key.name) ? live[key.name] : "ours";
    if (fingerprint === undefined) continue;
    const record = { key, fingerprint, deleting: false, uid: key.name, appliedAt: undefined };
    observed.set(objectId(key), { ...record, resourceVersion: "1" });
  }
  const facts: ObjectFacts = {
    inventory,
    observed,
    strays: [],
    lostJobs: new Set(),
    others: new Map(),
    isToAudit: () => true,
    held: new Set(),
    isKept: true,
  };
  const plan = planInstall(kept.objects, facts);
  return { kept, apply: namesOf(plan.apply), unchanged: namesOf(plan.unchanged), plan };
}

describe("an installation that keeps what its inventory holds", () => {
  test("replaces, adds and deletes nothing, and an audit sends only what has not changed", () => {
    const { kept, apply, unchanged, plan } = planned(inventoryOf());
    expect({ apply, unchanged }).toEqual({ apply: ["same"], unchanged: ["changed"] });
    expect(plan.prune).toEqual([]);
    expect(kept.version).toBe("1.22.0");
    expect(kept.kept?.map(({ name }) => name)).toEqual(["gone"]);
  });

  test.each([["another"], [undefined]])(
    "repairs an object that somebody changed or deleted with what is rendered now: %s",
    (live) => {
      const { plan } = planned(inventoryOf(), { changed: live });
      const [repaired] = plan.apply.filter(({ key }) => key.name === "changed");
      expect(repaired?.manifest["data"]).toEqual({ value: "b" });
      expect(plan.drifted.has(repaired?.id ?? "")).toBe(true);
      expect(repaired?.sentHash).toBe(rendered.objects.find(({ id }) => id === repaired?.id)?.hash);
    },
  );

  test("sends what was begun and never accepted", () => {
    expect(planned(inventoryOf({ changed: { hash: "" } })).apply).toContain("changed");
  });

  test("installs what is rendered where nothing is known to be installed", () => {
    expect(keptBy(rendered, undefined)).toBe(rendered);
    expect(keptBy(rendered, { version: "1.22.0", complete: false, entries: [] })).toBe(rendered);
  });
});
