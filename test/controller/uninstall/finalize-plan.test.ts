import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import {
  remnantsMessage,
  collectionParts,
  collectionsOf,
  remnantOf,
  type Remnant,
} from "../../../controller/uninstall/finalize-plan.ts";

const configMaps = knownResource("v1", "ConfigMap");
const clusterRoles = knownResource("rbac.authorization.k8s.io/v1", "ClusterRole");

function object(name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1", ...metadata },
  };
}

describe("places", () => {
  test("are each collection once, by namespace only where the kind has one", () => {
    const in_ = (namespace: string, name: string) => ({ ...configMaps, namespace, name });
    const objects = [
      { resource: configMaps, key: in_("a", "one") },
      { resource: configMaps, key: in_("a", "two") },
      { resource: configMaps, key: in_("b", "one") },
      { resource: clusterRoles, key: { ...clusterRoles, name: "one" } },
      { resource: clusterRoles, key: { ...clusterRoles, namespace: "a", name: "two" } },
    ];
    expect(collectionsOf(objects)).toEqual([
      { resource: configMaps, namespace: "a" },
      { resource: configMaps, namespace: "b" },
      { resource: clusterRoles },
    ]);
  });
});

function roles(count: number, suffix = "") {
  return Array.from({ length: count }, (_, at) => ({
    resource: clusterRoles,
    key: { ...clusterRoles, name: `role-${at}${suffix}` },
  }));
}

/** As it stands in a URL. */
function lengthOf(text: string): number {
  return new URLSearchParams({ text }).toString().length;
}

describe("parts", () => {
  test("of a small collection are the collection", () => {
    expect(collectionParts(roles(32))).toEqual([{ resource: clusterRoles }]);
  });

  test("of a large one leave out each other's names, so that each object is in exactly one", () => {
    const objects = roles(70);
    const parts = collectionParts(objects);
    expect(parts).toHaveLength(3);
    const excluded = parts.map(({ fieldSelector = "" }) => new Set(fieldSelector.split(",")));
    for (const { key } of objects) {
      const within = excluded.filter((names) => !names.has(`metadata.name!=${key.name}`));
      expect(within).toHaveLength(1);
    }
  });

  test("are fewer where names would make a URL too long for what stands before a server", () => {
    const long = roles(70, `-${"a".repeat(60)}`);
    const parts = collectionParts(long);
    expect(parts).toHaveLength(2);
    for (const { fieldSelector = "" } of parts) expect(lengthOf(fieldSelector)).toBeLessThan(4_100);
    // Escaped, each of these letters takes three places.
    expect(collectionParts(roles(70, `-${":".repeat(60)}`))).toEqual([{ resource: clusterRoles }]);
  });

  test.each([200, 2_000])("of %i objects have no long URL", (count) => {
    for (const { fieldSelector = "" } of collectionParts(roles(count))) {
      expect(lengthOf(fieldSelector)).toBeLessThan(4_100);
    }
  });

  test("escape what field selectors are made of", () => {
    const odd = { resource: clusterRoles, key: { ...clusterRoles, name: String.raw`a,b=c\d` } };
    const selectors = collectionParts([...roles(32), odd]).map(
      ({ fieldSelector }) => fieldSelector,
    );
    expect(selectors.join(" ")).toContain(String.raw`metadata.name!=a\,b\=c\\d`);
  });
});

function remnants(names: readonly string[]): readonly Remnant[] {
  return names.map((name) =>
    remnantOf({ object: object(name, { namespace: "ns" }), resource: configMaps }),
  );
}

describe("what is left", () => {
  test("is named in order", () => {
    expect(remnantsMessage(remnants(["b", "a"]))).toBe(
      "Waiting for the deletion of ConfigMap ns/a, ConfigMap ns/b",
    );
  });

  test("is counted beyond five", () => {
    expect(remnantsMessage(remnants(["g", "f", "e", "d", "c", "b", "a"]))).toBe(
      "Waiting for the deletion of ConfigMap ns/a, ConfigMap ns/b, ConfigMap ns/c, ConfigMap ns/d, " +
        "ConfigMap ns/e and 2 more",
    );
  });

  test("is named with the finalizers that hold it", () => {
    const held = object("a", {
      namespace: "ns",
      finalizers: ["z.example.com/b", "a.example.com/a"],
    });
    expect(remnantsMessage([remnantOf({ object: held, resource: configMaps })])).toBe(
      "Waiting for the deletion of ConfigMap ns/a (finalizer a.example.com/a, z.example.com/b)",
    );
  });

  test("is named with what refuses its deletion", () => {
    expect(remnantsMessage(remnants(["a"]), "the webhook b.test does not answer")).toBe(
      "Waiting for the deletion of ConfigMap ns/a: the webhook b.test does not answer",
    );
  });

  test("says whether it is going already and how it can be deleted", () => {
    const metadata = {
      deletionTimestamp: "2026-01-01T00:00:00Z",
      labels: { "knfleet.dev/component-uid": "x" },
    };
    expect(remnantOf({ object: object("a", metadata), resource: configMaps })).toMatchObject({
      deleting: true,
      unlabelled: false,
    });
    expect(remnantOf({ object: object("a"), resource: configMaps })).toMatchObject({
      deleting: false,
      unlabelled: true,
    });
  });
});
