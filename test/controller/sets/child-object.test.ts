import { describe, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { adoptedFields, childNameOf, releasePatch } from "../../../controller/sets/child-object.ts";
import { SetWorld } from "../../sets/set-world.ts";

const { set } = new SetWorld({}, []);
const spec = (fields: object) => ({ "f:spec": fields });
const written = (manager: string, fieldsV1: object) => ({
  manager,
  operation: "Update",
  apiVersion: "operator.knative.dev/v1beta1",
  fieldsType: "FieldsV1",
  fieldsV1: JSON.parse(JSON.stringify(fieldsV1)),
});

describe("the name of a component", () => {
  test("is that of the set and of the ClusterProfile", () => {
    expect(childNameOf(set, { namespace: "fleet", name: "eu-1" })).toBe("prod-eu-1");
  });

  test("has the namespace of the ClusterProfile in it where that is not the only one", () => {
    const selector = { namespaces: ["fleet", "lab"] };
    const clusters = { from: "Selector", selector } as const;
    const both = { ...set, spec: { ...set.spec, clusters } };
    expect(childNameOf(both, { namespace: "lab", name: "eu-1" })).toBe("prod-lab-eu-1");
  });

  test("has the namespace in it where the only one of the set is another one", () => {
    const clusters = { from: "Selector", selector: { namespaces: ["lab"] } } as const;
    const other = { ...set, spec: { ...set.spec, clusters } };
    expect(childNameOf(other, { namespace: "fleet", name: "eu-1" })).toBe("prod-fleet-eu-1");
    expect(childNameOf(other, { namespace: "lab", name: "eu-1" })).toBe("prod-eu-1");
  });

  test("of 200 characters is not cut", () => {
    const name = "x".repeat(195);
    expect(childNameOf(set, { namespace: "fleet", name })).toBe(`prod-${name}`);
  });

  test("is cut with a hash, so that two long names stay two", () => {
    const names = ["a", "b"].map((end) =>
      childNameOf(set, { namespace: "fleet", name: "x".repeat(240) + end }),
    );
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toHaveLength(200);
  });
});

describe("the managedFields of a component that is taken over", () => {
  test("give the whole spec to the set, whoever wrote its parts, and leave the rest", () => {
    const status = { ...written("knfleet-controller", { "f:status": {} }), subresource: "status" };
    const finalizer = written("knfleet-controller", { "f:metadata": { "f:finalizers": {} } });
    const entries = [
      written("kubectl", { "f:metadata": { "f:labels": {} }, ...spec({ "f:version": {} }) }),
      written("helm", spec({ "f:config": { "f:network": {} }, "f:version": {} })),
      status,
      finalizer,
    ];
    expect(adoptedFields(entries)).toEqual([
      written("kubectl", { "f:metadata": { "f:labels": {} } }),
      status,
      finalizer,
      {
        ...written("knfleet-set", spec({ "f:version": {}, "f:config": { "f:network": {} } })),
        operation: "Apply",
      },
    ]);
  });

  test("are of the version in which the first spec was written", () => {
    const old = { ...written("helm", spec({ "f:version": {} })), apiVersion: "older/v1" };
    const labels = written("kubectl", { "f:metadata": { "f:labels": {} } });
    expect(adoptedFields([labels, old])).toEqual([
      labels,
      { ...old, manager: "knfleet-set", operation: "Apply" },
    ]);
  });

  test("leave a spec that was written through a subresource to who wrote it", () => {
    const scale = { ...written("scaler", spec({ "f:replicas": {} })), subresource: "scale" };
    expect(adoptedFields([scale])).toEqual([scale]);
  });

  test("stay as they are where nobody owns a spec", () => {
    const entries = [written("kubectl", { "f:metadata": { "f:labels": {} } })];
    expect(adoptedFields(entries)).toEqual(entries);
  });
});

test("a component that is released keeps no label, annotation or field of the set", () => {
  const child: Component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: { namespace: "fleet", name: "prod-a", uid: "1", resourceVersion: "7" },
  };
  const others = written("kubectl", { "f:metadata": {} });
  const patch = releasePatch(child, [written("knfleet-set", spec({})), others]);
  expect(patch).toEqual({
    resourceVersion: "7",
    labels: {
      "knfleet.dev/set": null,
      "knfleet.dev/set-kind": null,
      "knfleet.dev/set-revision": null,
      "knfleet.dev/set-stage": null,
    },
    annotations: {
      "knfleet.dev/set-updated-at": null,
      "knfleet.dev/set-uid": null,
      "knfleet.dev/set-component": null,
      "knfleet.dev/set-content": null,
      "knfleet.dev/set-spec": null,
      "knfleet.dev/set-unselected-at": null,
      "knfleet.dev/set-question": null,
      "knfleet.dev/set-answer": null,
    },
    managedFields: [others],
  });
  expect(releasePatch(child, [written("knfleet-set", spec({}))]).managedFields).toEqual([{}]);
});
