import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import {
  type Belonging,
  isOurs,
  isWebhookConfiguration,
} from "../../../controller/apply/belonging.ts";

function objectWith(metadata: Partial<KubeObject["metadata"]>): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", uid: "uid", resourceVersion: "1", ...metadata },
  };
}

describe("webhook configurations", () => {
  test.each([
    ["ValidatingWebhookConfiguration", true],
    ["MutatingWebhookConfiguration", true],
    ["ValidatingAdmissionPolicy", false],
    ["ConfigMap", false],
  ])("%s is one: %s", (kind, expected) => {
    expect(isWebhookConfiguration({ kind })).toBe(expected);
  });
});

describe("an object of the inventory is ours", () => {
  const belonging: Belonging = {
    componentUid: "component",
    ownerUid: "anchor",
    componentLabel: "knative-eventing",
    fieldManager: "knfleet-hub",
    namespace: "knative-eventing",
  };
  const inNamespace = { namespace: "knative-eventing" };
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "root", uid: "anchor" };
  const named = { labels: { "app.kubernetes.io/name": "knative-eventing" } };
  const applied = { managedFields: [{ manager: "knfleet-hub", operation: "Apply" }] };
  const ownLabel = { labels: { "knfleet.dev/component-uid": "component" } };
  const labelOfAnother = { labels: { "knfleet.dev/component-uid": "another" } };

  const table: readonly {
    readonly what: string;
    readonly ours: boolean;
    readonly metadata: Partial<KubeObject["metadata"]>;
  }[] = [
    {
      what: "owned by our anchor",
      ours: true,
      metadata: { ...inNamespace, ownerReferences: [owner] },
    },
    {
      what: "owned by another one",
      ours: false,
      metadata: { ...inNamespace, ownerReferences: [{ ...owner, uid: "other" }] },
    },
    {
      what: "in our namespace, without an owner",
      ours: false,
      metadata: { ...inNamespace, ...named, ...applied },
    },
    {
      what: "cluster-scoped, named and applied by us",
      ours: true,
      metadata: { ...named, ...applied },
    },
    {
      what: "in a namespace that our anchor cannot own in, named and applied by us",
      ours: true,
      metadata: { namespace: "istio-system", ...named, ...applied },
    },
    { what: "cluster-scoped, only named as ours", ours: false, metadata: named },
    { what: "cluster-scoped, only applied by us", ours: false, metadata: applied },
    {
      what: "labelled by its own component, which a view may not show yet",
      ours: true,
      metadata: { ...inNamespace, ...ownLabel },
    },
    {
      what: "labelled by another component",
      ours: false,
      metadata: { ...inNamespace, ...labelOfAnother, ownerReferences: [owner] },
    },
  ];
  test.each(table)("$what: $ours", ({ ours, metadata }) => {
    expect(isOurs(objectWith(metadata), belonging)).toBe(ours);
  });
});
