import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { knownResource, resourceFinder, tableResource } from "../../api/resources.ts";

const definition: Manifest = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "oxen.example.com" },
  spec: { group: "example.com", scope: "Cluster", names: { kind: "Ox", plural: "oxen" } },
};

describe("the resource of an object", () => {
  test.each([
    { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
    { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments", namespaced: true },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      plural: "validatingadmissionpolicies",
      namespaced: false,
    },
    {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      plural: "runtimeclasses",
      namespaced: false,
    },
    {
      apiVersion: "cert-manager.io/v1",
      kind: "ClusterIssuer",
      plural: "clusterissuers",
      namespaced: false,
    },
    { apiVersion: "cert-manager.io/v1", kind: "Issuer", plural: "issuers", namespaced: true },
    { apiVersion: "example.com/v9", kind: "Ox", plural: "oxen", namespaced: false },
    { apiVersion: "other.example.com/v1", kind: "Ox", plural: "oxes", namespaced: true },
    {
      apiVersion: "example.com/v1",
      kind: "RecoveryPolicy",
      plural: "recoverypolicies",
      namespaced: true,
    },
    { apiVersion: "example.com/v1", kind: "Gateway", plural: "gateways", namespaced: true },
  ])("$apiVersion $kind is $plural", ({ apiVersion, kind, ...expected }) => {
    expect(resourceFinder([definition])({ apiVersion, kind })).toEqual({
      apiVersion,
      kind,
      ...expected,
    });
  });

  test("is unknown to the table for a kind of somebody else", () => {
    expect(tableResource("example.com/v1", "Ox")).toBeUndefined();
    expect(() => knownResource("example.com/v1", "Ox")).toThrow("example.com/v1 Ox");
  });
});
