import * as fc from "fast-check";
import { expect, test } from "vitest";

import {
  decodeInventory,
  encodeInventory,
  type Inventory,
  type InventoryEntry,
  mayBeGone,
  unionOf,
} from "../../installation/inventory.ts";

const role: InventoryEntry = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  name: "knative-serving-admin",
  hash: "h1",
  fingerprint: "f1",
};
const config: InventoryEntry = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "knative-serving",
  name: "config-features",
  hash: "",
};

function inventory(...entries: InventoryEntry[]): Inventory {
  return { version: "1.23.0", complete: false, entries };
}

function placeOf({ apiVersion, kind, namespace, name }: InventoryEntry): string {
  return [apiVersion, kind, namespace, name].join("|");
}

test("an inventory survives being written and read", () => {
  const entry = fc.record(
    {
      apiVersion: fc.constantFrom("v1", "apps/v1", "rbac.authorization.k8s.io/v1"),
      kind: fc.constantFrom("Role", "Service", "Job"),
      namespace: fc.constantFrom("a", "b"),
      name: fc.stringMatching(/^[a-z][a-z0-9.:-]{0,20}$/),
      hash: fc.string(),
      fingerprint: fc.string(),
    },
    { requiredKeys: ["apiVersion", "kind", "name", "hash"] },
  );
  const entries = fc.uniqueArray(entry, { selector: placeOf });
  fc.assert(
    fc.property(fc.boolean(), entries, (complete, list) => {
      const written = { version: "1.23.0", complete, entries: list };
      const read = decodeInventory(encodeInventory(written));
      expect(read?.complete).toBe(complete);
      expect(new Set(read?.entries.map((one) => JSON.stringify(one)))).toEqual(
        new Set(
          list.map(({ apiVersion, kind, namespace, name, hash, fingerprint }) =>
            JSON.stringify({ apiVersion, kind, namespace, name, hash, fingerprint }),
          ),
        ),
      );
    }),
  );
});

test("equal inventories have equal texts, whatever the order of their entries", () => {
  expect(encodeInventory(inventory(role, config))).toBe(encodeInventory(inventory(config, role)));
});

test.each([
  { name: "nothing", text: "" },
  { name: "cut JSON", text: '{"format":1,"vers' },
  { name: "a list", text: "[]" },
  { name: "another format", text: '{"format":2,"version":"1.23.0","complete":true,"objects":{}}' },
  { name: "no version", text: '{"format":1,"objects":{}}' },
  { name: "no objects", text: '{"format":1,"version":"1.23.0"}' },
])("$name is no inventory", ({ text }) => expect(decodeInventory(text)).toBeUndefined());

test("an inventory that lost or got something since it was written is none", () => {
  const text = encodeInventory(inventory(role, config));
  expect(decodeInventory(text)?.entries).toHaveLength(2);
  const content = JSON.parse(text);
  const { "v1/ConfigMap": configs, ...others } = content.objects;
  expect(configs).toBeDefined();
  const changed = [others, { ...content.objects, "v1/Secret": configs }];
  for (const objects of changed) {
    expect(decodeInventory(JSON.stringify({ ...content, objects }))).toBeUndefined();
  }
  const { digest, ...unsigned } = content;
  expect(digest).toMatch(/^[0-9a-f]{22}$/);
  expect(decodeInventory(JSON.stringify(unsigned))?.entries).toHaveLength(2);
});

test("damaged parts of an inventory are passed over, and damaged marks read as never accepted", () => {
  const text = JSON.stringify({
    format: 1,
    version: "1.23.0",
    complete: true,
    objects: { "v1/ConfigMap": { a: { broken: "x" }, b: 3 }, "": { a: { c: ["h"] } }, "v1/Pod": 1 },
  });
  expect(decodeInventory(text)?.entries).toEqual([
    { apiVersion: "v1", kind: "ConfigMap", namespace: "a", name: "broken", hash: "" },
  ]);
});

test("a union has the newer entry of each object, over all API versions of its group", () => {
  const newer = { ...role, apiVersion: "rbac.authorization.k8s.io/v2", hash: "h2" };
  expect(unionOf(inventory(newer), inventory(role, config)).entries).toEqual([newer, config]);
  expect(unionOf(inventory(newer), undefined).entries).toEqual([newer]);
});

test.each([
  { state: "a Job that was accepted", kind: "Job", hash: "h", fingerprint: "f", gone: true },
  { state: "a Job that was never accepted", kind: "Job", hash: "h", gone: false },
  { state: "a Job with new content", kind: "Job", hash: "", fingerprint: "f", gone: false },
  {
    state: "a CronJob that was accepted",
    kind: "CronJob",
    hash: "h",
    fingerprint: "f",
    gone: false,
  },
])("$state may be gone from its cluster: $gone", ({ kind, hash, fingerprint, gone }) => {
  const key = { apiVersion: "batch/v1", kind, namespace: "knative-serving", name: "migrate" };
  const accepted = fingerprint === undefined ? {} : { fingerprint };
  expect(mayBeGone({ ...key, hash, ...accepted })).toBe(gone);
});
