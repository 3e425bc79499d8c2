import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { resourceFinder } from "../../api/resources.ts";
import { inNamespace } from "../../render/namespace.ts";

const issuers = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com" },
  spec: { group: "example.com", scope: "Cluster", names: { kind: "Thing", plural: "things" } },
};

describe("moving into a namespace", () => {
  const move = inNamespace("here", resourceFinder([issuers]));
  const rbac = "rbac.authorization.k8s.io/v1";
  const admission = "admissionregistration.k8s.io/v1";
  const service = { service: { name: "webhook", namespace: "there", port: 443 } };
  const moved = { service: { name: "webhook", namespace: "here", port: 443 } };

  test.each<{ name: string; before: Manifest; after: object }>([
    {
      name: "fills in a missing namespace",
      before: { apiVersion: "v1", kind: "Service", metadata: { name: "a" } },
      after: { metadata: { name: "a", namespace: "here" } },
    },
    {
      name: "replaces another namespace",
      before: { apiVersion: "v1", kind: "Service", metadata: { name: "a", namespace: "there" } },
      after: { metadata: { name: "a", namespace: "here" } },
    },
    {
      name: "gives a custom kind without a definition a namespace",
      before: { apiVersion: "example.com/v1", kind: "Other", metadata: { name: "a" } },
      after: { metadata: { name: "a", namespace: "here" } },
    },
    {
      name: "takes the namespace from an object of a cluster-scoped custom kind",
      before: {
        apiVersion: "example.com/v2",
        kind: "Thing",
        metadata: { name: "a", namespace: "there" },
      },
      after: { metadata: { name: "a" } },
    },
    {
      name: "leaves an IngressClass without a namespace",
      before: { apiVersion: "networking.k8s.io/v1", kind: "IngressClass", metadata: { name: "a" } },
      after: { metadata: { name: "a" } },
    },
    {
      name: "renames a Namespace",
      before: { apiVersion: "v1", kind: "Namespace", metadata: { name: "there" } },
      after: { metadata: { name: "here" } },
    },
    {
      name: "moves the subjects of a binding that have a namespace",
      before: {
        apiVersion: rbac,
        kind: "ClusterRoleBinding",
        metadata: { name: "a" },
        subjects: [{ kind: "ServiceAccount", namespace: "there" }, { kind: "Group" }],
      },
      after: {
        metadata: { name: "a" },
        subjects: [{ kind: "ServiceAccount", namespace: "here" }, { kind: "Group" }],
      },
    },
    {
      name: "accepts a binding without subjects",
      before: { apiVersion: rbac, kind: "RoleBinding", metadata: { name: "a" } },
      after: { metadata: { name: "a", namespace: "here" } },
    },
    {
      name: "moves the Services of webhooks",
      before: {
        apiVersion: admission,
        kind: "MutatingWebhookConfiguration",
        metadata: { name: "a" },
        webhooks: [{ clientConfig: service }, { clientConfig: { url: "https://x" } }],
      },
      after: { webhooks: [{ clientConfig: moved }, { clientConfig: { url: "https://x" } }] },
    },
    {
      name: "accepts a configuration without webhooks",
      before: {
        apiVersion: admission,
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "a" },
        webhooks: null,
      },
      after: { webhooks: null },
    },
    {
      name: "moves the Service of an APIService",
      before: {
        apiVersion: "apiregistration.k8s.io/v1",
        kind: "APIService",
        metadata: { name: "a" },
        spec: service,
      },
      after: { spec: moved },
    },
    {
      name: "moves the conversion Service of a CRD",
      before: { ...issuers, spec: { conversion: { webhook: { clientConfig: service } } } },
      after: { spec: { conversion: { webhook: { clientConfig: moved } } } },
    },
    {
      name: "moves the conversion Service of an old CRD",
      before: {
        ...issuers,
        apiVersion: "apiextensions.k8s.io/v1beta1",
        spec: { conversion: { webhookClientConfig: service } },
      },
      after: { spec: { conversion: { webhookClientConfig: moved } } },
    },
  ])("$name", ({ before, after }) => {
    expect(move(before)).toEqual({ ...before, ...after });
  });

  test("says which object has subjects that are no list", () => {
    const binding = { apiVersion: rbac, kind: "ClusterRoleBinding", metadata: { name: "a" } };
    expect(() => move({ ...binding, subjects: "everyone" })).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: "ClusterRoleBinding a has no list where one is expected",
      }),
    );
  });
});
