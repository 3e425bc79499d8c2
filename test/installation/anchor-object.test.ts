import { describe, expect, test } from "vitest";

import type { KubeObject, ObjectMeta } from "../../api/kubernetes.ts";
import {
  assertOurs,
  assertTakenUp,
  inventoryTextOf,
  isMarked,
  letGoManifest,
  ownerOf,
  anchorKey,
  anchorManifest,
  anchorManifestOver,
} from "../../installation/anchor-object.ts";
import { serving } from "../controller/apply/installer.ts";

const component = serving({}, { uid: "component-uid" });
const profile = { namespace: "fleet", name: "spoke-1" };
const hubA = { namespace: "knative-serving", hubId: "hub-a", fieldManager: "knfleet-hub-a" };
const remote = { component, target: { ...hubA, profile } };
const local = { component, target: hubA };

function live(
  metadata: Partial<ObjectMeta>,
  owner: Parameters<typeof anchorManifest>[0] = remote,
): KubeObject {
  const manifest = anchorManifest(owner, "{}");
  const stored = { name: "root", uid: "root-uid", resourceVersion: "7" };
  return { ...manifest, metadata: { ...manifest.metadata, ...stored, ...metadata } };
}

test("an anchor has upstream's name, labels and annotations, and says whose it is", () => {
  expect(anchorManifest(remote, "text")).toMatchObject({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: "knative-serving",
      name: "knativeserving-knative-serving-root-owner",
      labels: {
        "app.kubernetes.io/managed-by": "knative-operator",
        "operator.knative.dev/cr-name": "knative-serving",
      },
      annotations: {
        "operator.knative.dev/anchor": "true",
        "operator.knative.dev/protected": "true",
        "operator.knative.dev/cr-uid": "component-uid",
        "operator.knative.dev/hub-id": "hub-a",
      },
    },
    data: { inventory: "text" },
  });
  expect(anchorManifest(remote, "").metadata.ownerReferences).toBeUndefined();
});

test("T-60 an anchor keeps a long name whole in an annotation, and is known by what its label holds", () => {
  const long = `a${"b".repeat(99)}`;
  const metadata = { ...component.metadata, name: long };
  const owner = { ...remote, component: { ...component, metadata } };
  const { labels, annotations, name: anchorName } = anchorManifest(owner, "").metadata;
  expect(anchorName).toBe(`knativeserving-${long}-root-owner`);
  expect(labels?.["operator.knative.dev/cr-name"]).toHaveLength(63);
  expect(annotations?.["operator.knative.dev/cr-name"]).toBe(long);
  expect(anchorManifest(remote, "").metadata.annotations).not.toHaveProperty([
    "operator.knative.dev/cr-name",
  ]);
  const stripped = {
    ...live({}, owner),
    metadata: live({ labels, annotations: {} }, owner).metadata,
  };
  expect(assertOurs(stripped, owner)).toBeUndefined();
  expect(() => assertOurs(stripped, remote)).toThrow("is not an anchor of this component");
});

test("the anchor on the hub itself belongs to the component and is not protected", () => {
  const { annotations, ownerReferences } = anchorManifest(local, "").metadata;
  expect(ownerReferences).toMatchObject([{ kind: "KnativeServing", uid: "component-uid" }]);
  expect(annotations).not.toHaveProperty("operator.knative.dev/protected");
});

test("the owner of everything is the anchor, or on the hub itself the component", () => {
  const ownership = { controller: true, blockOwnerDeletion: true };
  expect(ownerOf(live({}), remote)).toMatchObject({
    kind: "ConfigMap",
    uid: "root-uid",
    ...ownership,
  });
  expect(ownerOf(live({}), local)).toMatchObject({ uid: "component-uid", ...ownership });
});

test("a name that no ConfigMap can have is refused", () => {
  const metadata = { ...component.metadata, name: "x".repeat(230) };
  expect(() => anchorKey({ ...remote, component: { ...component, metadata } })).toThrow(
    "exceeds 253",
  );
});

test.each([
  { name: "no data", object: {} },
  { name: "data that is no map", object: { data: [] } },
  { name: "another type", object: { data: { inventory: 3 } } },
])("an anchor with $name has no inventory", ({ object }) => {
  expect(inventoryTextOf({ ...anchorManifest(remote, ""), data: undefined, ...object })).toBe("");
});

const name: Readonly<Record<string, string>> = {
  "operator.knative.dev/cr-name": "knative-serving",
};
const none: Readonly<Record<string, string>> = {};
const fieldsOf = (manager: string) => [
  { manager, operation: "Apply", apiVersion: "v1", fieldsV1: { "f:data": { "f:inventory": {} } } },
];
const hub = (value: string) => ({ "operator.knative.dev/hub-id": value });
const uid = (value: string) => ({ "operator.knative.dev/cr-uid": value });

describe("an anchor", () => {
  test.each([
    { what: "of ours", labels: name, annotations: { ...hub("hub-a"), ...uid("component-uid") } },
    { what: "of upstream's", labels: name, annotations: {} },
    { what: "of ours that lost its label", labels: none, annotations: hub("hub-a") },
    {
      what: "of ours that lost all its marks",
      labels: undefined,
      annotations: undefined,
      managedFields: fieldsOf("knfleet-hub-a"),
    },
  ])("$what is accepted", ({ labels, annotations, managedFields }) => {
    const metadata = { labels, annotations, managedFields };
    expect(assertOurs(live(metadata), remote)).toBeUndefined();
  });

  test.each([
    {
      what: "of another hub",
      labels: name,
      annotations: { ...hub("hub-b"), ...uid("component-uid") },
    },
    {
      what: "of another component",
      labels: name,
      annotations: { ...hub("hub-a"), ...uid("other") },
    },
    {
      what: "of upstream's for another component",
      labels: { ...name, "operator.knative.dev/cr-name": "other" },
      annotations: {},
    },
    { what: "that is any ConfigMap", labels: none, annotations: {} },
    {
      what: "without marks that another hub wrote",
      labels: none,
      annotations: {},
      managedFields: fieldsOf("knfleet-hub-b"),
    },
    {
      what: "of another component that we wrote, too",
      labels: { "operator.knative.dev/cr-name": "other" },
      annotations: {},
      managedFields: fieldsOf("knfleet-hub-a"),
    },
  ])("$what is a conflict", ({ labels, annotations, managedFields }) => {
    const metadata = { labels, annotations, managedFields };
    expect(() => assertOurs(live(metadata), remote)).toThrow(
      expect.objectContaining({ reason: "AnchorConflict" }),
    );
  });

  test.each([
    { what: "as it was written", metadata: {}, marked: true },
    {
      what: "with labels of others besides",
      metadata: { labels: { ...live({}).metadata.labels, a: "b" } },
      marked: true,
    },
    { what: "without its label", metadata: { labels: {} }, marked: false },
    { what: "without its annotations", metadata: { annotations: {} }, marked: false },
    {
      what: "without labels and annotations at all",
      metadata: { labels: undefined, annotations: undefined },
      marked: false,
    },
    {
      what: "that was let go",
      metadata: letGoManifest(live({}), remote).metadata,
      marked: false,
    },
    { what: "with a finalizer", metadata: { finalizers: ["x"] }, marked: false },
    {
      what: "with an owner",
      metadata: { ownerReferences: [ownerOf(live({}), local)] },
      marked: false,
    },
  ])("$what is marked: $marked", ({ metadata, marked }) => {
    expect(isMarked(live(metadata), remote)).toBe(marked);
  });
});

test.each([
  { what: "the component as owner", ownerReferences: [ownerOf(live({}), local)], marked: true },
  { what: "another owner", ownerReferences: [ownerOf(live({}), remote)], marked: false },
  { what: "no owner", ownerReferences: undefined, marked: false },
])("an anchor on the hub itself with $what is marked: $marked", ({ ownerReferences, marked }) => {
  expect(isMarked(live({ ownerReferences }, local), local)).toBe(marked);
});

test("an anchor of upstream's whose fields nobody owns is taken up only for a component that was installed", () => {
  const bare = live({ labels: name, annotations: undefined, managedFields: undefined });
  expect(() => assertTakenUp(bare, remote)).toThrow(
    expect.objectContaining({ reason: "AnchorConflict" }),
  );
  const status = { conditions: [], manifests: ["a"] };
  expect(assertTakenUp(bare, { ...remote, component: { ...component, status } })).toBeUndefined();
  const written = live({ annotations: undefined, managedFields: fieldsOf("knfleet-hub-a") });
  expect(assertTakenUp(written, remote)).toBeUndefined();
});

describe("an anchor that somebody made immutable", () => {
  const frozen = { ...live({}), immutable: true, data: { inventory: "old" } };

  test("has its inventory in an annotation, and keeps the data that cannot be changed", () => {
    const manifest = anchorManifestOver(frozen, remote, "new");
    expect(manifest).toMatchObject({
      metadata: { annotations: { "knfleet.dev/inventory": "new" } },
      data: { inventory: "old" },
    });
    expect(inventoryTextOf({ ...frozen, ...manifest, immutable: true })).toBe("new");
    expect(inventoryTextOf(frozen)).toBe("old");
  });

  test("that never had an inventory gets no data", () => {
    const { data: _, ...bare } = frozen;
    const manifest = anchorManifestOver(bare, remote, "new");
    expect(manifest).not.toHaveProperty("data");
    expect(inventoryTextOf({ ...manifest, immutable: true })).toBe("new");
  });

  test("is the only one of which the annotation counts", () => {
    const annotations = { "knfleet.dev/inventory": "forged" };
    expect(inventoryTextOf(live({ annotations }))).toBe("{}");
    expect(anchorManifestOver(live({}), remote, "new")).toEqual(anchorManifest(remote, "new"));
  });
});

test("an anchor that a controller has let go of says so, keeps its inventory, and is not marked as a managed one", () => {
  const pulled = { "knfleet.dev/hub-id": "hub-a", "knfleet.dev/hub-component-uid": "hub-uid" };
  const owner = { ...local, component: serving({}, { uid: "component-uid", annotations: pulled }) };
  const managed = live({}, owner);
  expect(managed.metadata.annotations).toMatchObject(pulled);
  const manifest = letGoManifest(managed, owner);
  expect(manifest).toMatchObject({
    metadata: { annotations: { ...pulled, "knfleet.dev/let-go": "true" } },
    data: { inventory: "{}" },
  });
  const held = { ownerReferences: manifest.metadata.ownerReferences ?? [] };
  expect(isMarked(live(held, owner), owner)).toBe(true);
  expect(isMarked({ ...manifest, metadata: { ...manifest.metadata, ...held } }, owner)).toBe(false);
});
