import { describe, expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { applyPatches } from "../../../render/patches/patches.ts";
import { eventing } from "../components.ts";
import { activator, activatorWith, patchedWith, patchOf } from "./activator-patches.ts";

const config: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "config-gc", namespace: "knative-serving" },
  data: { a: "1" },
};
const elsewhere: Manifest = { ...config, metadata: { ...config.metadata, namespace: "other" } };
const configTarget = { apiVersion: "v1", kind: "ConfigMap", name: "config-gc" };
const remove = "$patch: delete";

function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof FleetError && error.reason === "ManifestInvalid") return error.message;
    throw error;
  }
  throw new Error("It was not refused");
}

describe("spec.patches", () => {
  test("leaves the objects that no patch names as they are", () => {
    const { manifests, deletions } = patchedWith(
      [patchOf("merge", "data: {b: '2'}", configTarget)],
      [activator, config],
    );
    expect(manifests[0]).toBe(activator);
    expect(manifests[1]).toEqual({ ...config, data: { a: "1", b: "2" } });
    expect(deletions).toEqual([]);
    expect(config["data"]).toEqual({ a: "1" });
  });

  test("shows each patch what the ones before it made", () => {
    const { manifests } = patchedWith(
      [
        patchOf("merge", "data: {b: '2'}", configTarget),
        patchOf("json", "[{op: test, path: /data/b, value: '2'}]", configTarget),
        patchOf("strategic", "data: {a: null}", configTarget),
      ],
      [config],
    );
    expect(manifests[0]).toHaveProperty("data", { b: "2" });
  });

  test("deletes in the reverse order of the patches", () => {
    const { manifests, deletions } = patchedWith(
      [patchOf("strategic", remove, configTarget), patchOf("strategic", remove)],
      [activator, config],
    );
    expect(manifests).toEqual([]);
    expect(deletions.map(({ kind }) => kind)).toEqual(["Deployment", "ConfigMap"]);
  });

  test("protects the Deployment webhook of Serving, and not that of Eventing", () => {
    const webhook = { ...activator, metadata: { ...activator.metadata, name: "webhook" } };
    const patches = [patchOf("strategic", remove, { name: "webhook" })];
    expect(refusalOf(() => patchedWith(patches, [webhook]))).toBe(
      "patch 0 target apps/v1, Kind=Deployment, */webhook: deleting protected resource apps/v1, Kind=Deployment, */webhook is not supported",
    );
    expect(applyPatches(eventing({ patches }), [webhook]).deletions).toHaveLength(1);
  });

  test("tells equal identities apart by the namespace of the target alone", () => {
    const patches = [patchOf("merge", "data: {b: '2'}", configTarget)];
    expect(refusalOf(() => patchedWith(patches, [config, elsewhere]))).toBe(
      "patch 0 target v1, Kind=ConfigMap, */config-gc: matched 2 generated resources; specify target.namespace",
    );
    const other = { ...configTarget, namespace: "other" };
    const { manifests } = patchedWith(
      [patchOf("merge", "data: {b: '2'}", other)],
      [config, elsewhere],
    );
    expect(manifests).toEqual([config, { ...elsewhere, data: { a: "1", b: "2" } }]);
    expect(
      refusalOf(() => patchedWith([patchOf("merge", "{}", other)], [elsewhere, elsewhere])),
    ).toContain("other/config-gc: matched 2 generated resources; target must match exactly one");
  });

  test("keeps the identity in a replacement that leaves it out", () => {
    const content = "$patch: replace\ndata: {only: this}";
    const { manifests } = patchedWith([patchOf("strategic", content, configTarget)], [config]);
    expect(manifests).toEqual([{ ...config, data: { only: "this" } }]);
  });

  test.each([
    ["merge", "metadata: {namespace: null}"],
    ["merge", "apiVersion: apps/v2"],
    ["json", "[{op: replace, path: /metadata/name, value: x}]"],
    ["strategic", "kind: StatefulSet"],
    ["merge", "metadata: text"],
  ] as const)("refuses another identity: %s %s", (type, content) => {
    expect(refusalOf(() => activatorWith(type, content))).toMatch(
      /: patch must not change apiVersion, kind, metadata\.name, or metadata\.namespace$/,
    );
  });

  test.each([
    ["json", "[{op: remove, path: ''}]", "apply JSON patch"],
    ["json", "[{op: replace, path: '', value: 1}]", "decode patched resource"],
    ["json", "{op: add}", "decode JSON patch"],
    ["merge", "[1]", "decode patched resource"],
    ["strategic", "[1]", "decode strategic merge patch"],
    ["strategic", "$patch: 1", "root $patch directive must be a string"],
    ["strategic", "$patch: replace\nmetadata: x", "root $patch: replace metadata must be"],
    ["strategic", "metadata: {labels: 1}", "metadata.labels must be a map"],
  ] as const)("refuses %s %s", (type, content, problem) => {
    expect(refusalOf(() => activatorWith(type, content))).toContain(`*/activator: ${problem}`);
  });

  test("refuses more than 64 patches", () => {
    const one = patchOf("merge", "{}");
    expect(patchedWith(Array.from({ length: 64 }, () => one)).manifests).toEqual([activator]);
    expect(refusalOf(() => patchedWith(Array.from({ length: 65 }, () => one)))).toContain(
      "must not hold more than 64 patches",
    );
  });
});

function named(field: string): RegExp {
  return new RegExp(`: metadata.${field} belongs to knfleet and cannot be patched$`);
}

describe("what is knfleet's own", () => {
  test.each([
    ["merge", "metadata: {ownerReferences: null}"],
    ["strategic", "metadata: {ownerReferences: [{uid: u, $patch: delete}]}"],
    ["strategic", "metadata: {$setElementOrder/ownerReferences: [{uid: u}]}"],
    ["json", "[{op: remove, path: /metadata/ownerReferences}]"],
    ["json", "[{op: test, path: /metadata/ownerReferences/0/uid, value: u}]"],
    ["json", "[{op: copy, from: /metadata/ownerReferences, path: /spec/x}]"],
    ["json", "[{op: add, path: x/metadata/ownerReferences, value: []}]"],
  ] as const)("no patch says who owns an object: %s %s", (type, content) => {
    expect(refusalOf(() => activatorWith(type, content))).toMatch(named("ownerReferences"));
  });

  test.each([
    ["merge", "metadata: {finalizers: [a]}"],
    ["strategic", "metadata: {$deleteFromPrimitiveList/finalizers: [a]}"],
    ["json", "[{op: add, path: /metadata/finalizers, value: [a]}]"],
  ] as const)("no patch sets a finalizer: %s %s", (type, content) => {
    expect(refusalOf(() => activatorWith(type, content))).toMatch(named("finalizers"));
  });

  test.each([
    ["merge", 'metadata: {labels: {"knfleet.dev/component-uid": x}}', "labels"],
    ["strategic", 'metadata: {annotations: {"operator.knative.dev/anchor": x}}', "annotations"],
    ["json", '[{op: add, path: "/metadata/labels/knfleet.dev~1x", value: a}]', "labels"],
  ] as const)("no patch marks an object: %s %s", (type, content, field) => {
    expect(refusalOf(() => activatorWith(type, content))).toMatch(named(`${field}\\["[^"]+"\\]`));
  });

  test("a whole metadata that brings such a field is refused, too", () => {
    const value = '{"name": activator, namespace: knative-serving, finalizers: [a]}';
    const content = `[{op: replace, path: /metadata, value: ${value}}]`;
    expect(refusalOf(() => activatorWith("json", content))).toMatch(named("finalizers"));
  });

  test("fields of the same names elsewhere may be patched", () => {
    const content =
      "spec: {template: {metadata: {finalizers: [a], labels: {'knfleet.dev/x': abc}}}}";
    const template = { metadata: { finalizers: ["a"], labels: { "knfleet.dev/x": "abc" } } };
    expect(activatorWith("merge", content)["spec"]).toMatchObject({ template });
  });
});
