import { describe, expect, test } from "vitest";

import { bodyOf, outlives, Preparations, prepare } from "../../installation/desired.ts";
import { definitionOf, manifestOf, preparedOf } from "../controller/apply/prepared.ts";

const installation = {
  owner: { apiVersion: "v1", kind: "ConfigMap", name: "root", uid: "root-uid" },
  namespace: "knative",
  componentUid: "component-uid",
};

describe("what is sent of a rendered object", () => {
  test("carries the owner and the component's uid", () => {
    const [config] = preparedOf([manifestOf("v1 ConfigMap knative/a", { data: { x: "1" } })]);
    expect(config && bodyOf(config, installation)).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        namespace: "knative",
        name: "a",
        labels: { "knfleet.dev/component-uid": "component-uid" },
        ownerReferences: [installation.owner],
      },
      data: { x: "1" },
    });
  });

  test("has no owner in another namespace or in none", () => {
    const bodies = preparedOf([
      manifestOf("v1 Service istio-system/gateway"),
      manifestOf("rbac.authorization.k8s.io/v1 ClusterRole admin"),
    ]).map((object) => bodyOf(object, installation));
    expect(bodies.map(({ metadata }) => metadata.ownerReferences)).toEqual([undefined, undefined]);
    expect(bodies.map(({ metadata }) => metadata.labels)).toEqual([
      { "knfleet.dev/component-uid": "component-uid" },
      { "knfleet.dev/component-uid": "component-uid" },
    ]);
  });

  test("has a second owner in its namespace where the cluster cannot protect the first", () => {
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const secondOwner = { apiVersion, kind: "ClusterRole", name: "twin", uid: "twin-uid" };
    const owners = preparedOf([
      manifestOf("v1 ConfigMap knative/a"),
      manifestOf("v1 ConfigMap elsewhere/a"),
    ]).map((object) => bodyOf(object, { ...installation, secondOwner }).metadata.ownerReferences);
    expect(owners).toEqual([[installation.owner, secondOwner], undefined]);
  });

  test("has the guard's label on a CRD, and on nothing else, when CRDs are guarded", () => {
    const labels = preparedOf([definitionOf("Thing"), manifestOf("v1 Secret knative/a")]).map(
      (object) => bodyOf(object, { ...installation, crdGuard: "hub" }).metadata.labels,
    );
    expect(labels.map((one) => one?.["operator.knative.dev/crd-guard"])).toEqual([
      "hub",
      undefined,
    ]);
  });

  test("has a label of no component on a CRD, which stays when the installation goes", () => {
    const [definition] = preparedOf([definitionOf("Thing")]);
    const { metadata } = definition === undefined ? {} : bodyOf(definition, installation);
    expect(metadata?.labels).toEqual({ "knfleet.dev/definition": "true" });
    expect(definition && outlives(definition.key)).toBe(true);
  });
});

test("Namespaces are apart from the objects", () => {
  const namespace = manifestOf("v1 Namespace knative");
  const desired = prepare({
    version: "1.0.0",
    manifests: [namespace, manifestOf("v1 Secret knative/a")],
  });
  expect(desired.namespaces).toEqual([namespace]);
  expect(desired.objects.map(({ key }) => key.kind)).toEqual(["Secret"]);
});

test("a hash changes with the content and not with the order of fields", () => {
  const [a, b, c] = [
    { data: { x: "1", y: "2" } },
    { data: { y: "2", x: "1" } },
    { data: { x: "1", y: "3" } },
  ].map((fields) => preparedOf([manifestOf("v1 ConfigMap knative/a", fields)])[0]?.hash);
  expect(a).toBe(b);
  expect(a).not.toBe(c);
});

test("equal renderings are prepared once", () => {
  const preparations = new Preparations();
  const nothing = { manifests: [], deletions: [], unusedConfig: [], paths: [] };
  const rendered = { version: "1.0.0", ...nothing, hash: "" };
  expect(preparations.of(rendered)).toBe(preparations.of(rendered));
});
