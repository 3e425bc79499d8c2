import { describe, expect, test } from "vitest";

import type { JsonObject, KubeObject, ManagedFieldsEntry } from "../../../../api/kubernetes.ts";
import {
  adoptionPatch,
  isOfLibrary,
  isUpstreams,
  keptAnnotations,
  ownNotes,
  ownPatch,
  releasePatch,
  takeOverPatch,
} from "../../../../controller/apply/adoption/take-over.ts";

const manager = "knfleet-a";
const note = "kubectl.kubernetes.io/last-applied-configuration";

function entry(by: string, fieldsV1: JsonObject, more: object = {}): ManagedFieldsEntry {
  return { manager: by, operation: "Update", apiVersion: "v1", fieldsV1, ...more };
}

function live(kind: string, managedFields: readonly ManagedFieldsEntry[]): KubeObject {
  const annotations = { [note]: "{}", theirs: "x" };
  const metadata = { name: "a", uid: "u", resourceVersion: "7", annotations, managedFields };
  return { apiVersion: "v1", kind, metadata };
}

function managedIn(patch: readonly object[] | undefined): readonly ManagedFieldsEntry[] {
  const found = patch?.find((op) =>
    Object.entries(op).some(([, v]) => v === "/metadata/managedFields"),
  );
  return Object(found).value ?? [];
}

const data = { "f:data": { "f:a": {} } };

describe("the patch that adopts an object of upstream's", () => {
  test("is none for an object that others wrote, or that upstream wrote only in parts", () => {
    const options = { manager, isScaled: false };
    for (const other of [
      entry("kubectl-edit", data),
      entry("manifestival", data, { subresource: "status" }),
      entry("manifestival", data, { operation: "Apply" }),
      entry("manifestival", data, { apiVersion: "v1beta1" }),
    ]) {
      expect(adoptionPatch(live("ConfigMap", [other]), options)).toBeUndefined();
    }
  });

  test("is tied to what was seen, makes the fields ours, keeps other managers and drops the annotations", () => {
    const other = entry("kubectl-edit", { "f:data": { "f:b": {} } });
    const object = live("ConfigMap", [other, entry("manifestival", data)]);
    const patch = adoptionPatch(object, { manager, isScaled: false });
    expect(patch).toEqual([
      { op: "test", path: "/metadata/uid", value: "u" },
      { op: "replace", path: "/metadata/resourceVersion", value: "7" },
      { op: "replace", path: "/metadata/managedFields", value: expect.any(Array) },
      { op: "remove", path: `/metadata/annotations/${note.replace("/", "~1")}` },
    ]);
    expect(managedIn(patch)).toMatchObject([
      other,
      { manager, operation: "Apply", apiVersion: "v1", fieldsV1: data },
    ]);
  });

  test.each([
    [
      "rules and bundle of a webhook",
      "ValidatingWebhookConfiguration",
      {
        "f:webhooks": {
          'k:{"name":"w"}': { "f:rules": {}, "f:clientConfig": { "f:caBundle": {} } },
        },
      },
    ],
    ["rules of an aggregated role", "ClusterRole", { "f:rules": {} }],
  ])("leaves %s to nobody", (_what, kind, foreign: JsonObject) => {
    const own = { "f:aggregationRule": {}, "f:metadata": { "f:labels": { "f:a": {} } } };
    const object = live(kind, [entry("manifestival", { ...own, ...foreign })]);
    const [ours] = managedIn(adoptionPatch(object, { manager, isScaled: false }));
    expect(ours?.fieldsV1).toEqual(own);
  });
});

describe("the patch that takes over what stands in the way", () => {
  const ports = { "f:spec": { "f:ports": { 'k:{"port":81}': { ".": {}, "f:name": {} } } } };
  const cause = { field: "spec.ports[1].name", reason: "FieldValueDuplicate" };

  test("takes only the part that the server found fault with", () => {
    const theirs = entry("kubectl-edit", { ...ports, ...data });
    const value = managedIn(takeOverPatch(live("Service", [theirs]), [cause], manager));
    expect(value).toMatchObject([
      { manager: "kubectl-edit", fieldsV1: data },
      { manager, fieldsV1: ports },
    ]);
  });

  test("takes of owners only the one that controls, and nothing else of the metadata", () => {
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "boss" };
    const [boss, backup] = ['k:{"uid":"boss"}', 'k:{"uid":"backup"}'] as const;
    const owners = { ".": {}, [boss]: {}, [backup]: {} };
    const fields = {
      "f:metadata": { "f:labels": { "f:theirs": {} }, "f:ownerReferences": owners },
    };
    const object = live("ConfigMap", [entry("their-tool", fields)]);
    const ownerReferences = [
      { ...owner, uid: "backup" },
      { ...owner, uid: "boss", controller: true },
    ];
    const held = { ...object, metadata: { ...object.metadata, ownerReferences } };
    const refused = { field: "metadata.ownerReferences" };
    const value = managedIn(takeOverPatch(held, [refused], manager));
    expect(value).toMatchObject([
      {
        fieldsV1: {
          "f:metadata": {
            "f:labels": { "f:theirs": {} },
            "f:ownerReferences": { ".": {}, [backup]: {} },
          },
        },
      },
      { manager, fieldsV1: { "f:metadata": { "f:ownerReferences": { [boss]: {} } } } },
    ]);
    expect(JSON.stringify(value.at(0))).not.toContain("boss");
  });

  test("is none when nobody else wrote there, or it is only a status", () => {
    const status = entry("kcm", ports, { subresource: "status" });
    for (const object of [
      live("Service", [entry("kubectl-edit", data)]),
      live("Service", [status]),
    ]) {
      expect(takeOverPatch(object, [cause], manager)).toBeUndefined();
    }
    expect(
      takeOverPatch(live("Service", [entry("a", ports)]), [{ field: "spec" }], manager),
    ).toBeUndefined();
  });
});

describe("the patch that makes ours what another controller of the program wrote", () => {
  const former = "knfleet-b";
  const applied = { operation: "Apply" };
  const more = { "f:data": { "f:b": {} } };

  test("is none for an object of others, or for a status", () => {
    for (const other of [entry("kubectl", data), entry(former, data, { subresource: "status" })]) {
      expect(ownPatch(live("ConfigMap", [other]), manager, former)).toBeUndefined();
    }
  });

  test("joins what it applied and wrote with what is ours already, and leaves others alone", () => {
    const other = entry("kubectl", { "f:data": { "f:c": {} } });
    const entries = [
      entry(former, data, applied),
      other,
      entry(former, more),
      entry(manager, more, applied),
    ];
    expect(managedIn(ownPatch(live("ConfigMap", entries), manager, former))).toEqual([
      other,
      entry(manager, { "f:data": { "f:a": {}, "f:b": {} } }, applied),
    ]);
  });
});

describe("an object of which nobody owns a field, and that has no annotations", () => {
  const metadata = { name: "a", uid: "u", resourceVersion: "7" };
  const bare: KubeObject = { apiVersion: "apps/v1", kind: "Deployment", metadata };

  test("is nobody's, and there is nothing to take over from it", () => {
    expect([isUpstreams(bare), isOfLibrary(bare)]).toEqual([false, false]);
    expect(adoptionPatch(bare, { manager, isScaled: true })).toBeUndefined();
    expect(takeOverPatch(bare, [{ field: "spec.ports[0].name" }], manager)).toBeUndefined();
    expect(takeOverPatch(bare, [{ field: "metadata.ownerReferences" }], manager)).toBeUndefined();
    expect(ownPatch(bare, manager, "knfleet-b")).toBeUndefined();
    expect(releasePatch(bare, [["f:data"]], manager)).toBeUndefined();
    expect(keptAnnotations(bare)).toBeUndefined();
    expect(ownNotes(bare, manager)).toBeUndefined();
  });
});

test("an entry without fields, and a refusal without a field, take nothing", () => {
  const { fieldsV1: _, ...empty } = entry("their-tool", data);
  const object = live("ConfigMap", [empty]);
  expect(takeOverPatch(object, [{ reason: "FieldValueInvalid" }], manager)).toBeUndefined();
  expect(
    managedIn(
      adoptionPatch(live("ConfigMap", [{ ...empty, manager: "manifestival" }]), {
        manager,
        isScaled: false,
      }),
    ),
  ).toEqual([]);
});

test("owners are not looked for in an object without owners", () => {
  const fields = { "f:metadata": { "f:ownerReferences": { 'k:{"uid":"boss"}': {} } } };
  const refused = { field: "metadata.ownerReferences" };
  const object = live("ConfigMap", [entry("their-tool", fields)]);
  expect(takeOverPatch(object, [refused], manager)).toBeUndefined();
});
