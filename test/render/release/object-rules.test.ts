import { expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { assertAllowed } from "../../../render/release/object-rules.ts";

const rbac = "rbac.authorization.k8s.io/v1";
const admission = "admissionregistration.k8s.io/v1";

function object(apiVersion: string, kind: string, fields: Record<string, unknown> = {}): Manifest {
  return { apiVersion, kind, metadata: { name: "some-object" }, ...fields };
}

const named = (name: string): { readonly metadata: Manifest["metadata"] } => ({
  metadata: { name },
});
const toRole = (name: string) => ({ roleRef: { kind: "ClusterRole", name }, subjects: [] });
const bound = (name: string) => ({
  roleRef: { name: "view" },
  subjects: [{ kind: "Group", name }],
});

test.each([
  object("v1", "ConfigMap", named("config-x")),
  object(rbac, "ClusterRoleBinding", toRole("view")),
  object(rbac, "RoleBinding", toRole("cluster-admin")),
  object(rbac, "RoleBinding", bound("system:authenticated")),
  object("example.com/v1", "ClusterRoleBinding", toRole("cluster-admin")),
  object(admission, "MutatingWebhookConfiguration", { webhooks: [] }),
  object("operators.knative.dev.example/v1", "Thing"),
])("a user may bring $apiVersion $kind", (manifest) => {
  expect(assertAllowed(manifest, "here")).toBeUndefined();
});

test.each([
  [object(rbac, "ClusterRoleBinding", toRole("cluster-admin")), "the role cluster-admin"],
  [object(rbac, "ClusterRoleBinding", bound("system:masters")), "the group system:masters"],
  [object(rbac, "RoleBinding", bound("system:masters")), "the group system:masters"],
  [object("operator.knative.dev/v1beta1", "KnativeServing"), "belongs to knfleet"],
  [object("knfleet.dev/v1", "Anything"), "belongs to knfleet"],
  [
    object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {
      ...named("knativeservings.operator.knative.dev"),
    }),
    "belongs to knfleet",
  ],
  [
    object(admission, "ValidatingAdmissionPolicyBinding", {
      ...named("anchor-guard.1234.operator.knative.dev"),
    }),
    "belongs to knfleet",
  ],
  [object("v1", "ConfigMap", named("knativeserving-a-root-owner")), "an anchor"],
  [
    object("v1", "Secret", {
      metadata: { name: "a", labels: { "knfleet.dev/component-uid": "1" } },
    }),
    "marked",
  ],
  [object(rbac, "ClusterRoleBinding", { roleRef: { name: "view" } }), "no subjects"],
  [object(admission, "ValidatingWebhookConfiguration"), "no webhooks"],
] as const)("a user may not bring %j", (manifest, problem) => {
  expect(() => assertAllowed(manifest, "here,")).toThrow(
    expect.objectContaining({
      reason: "ManifestInvalid",
      message: expect.stringMatching(new RegExp(`^Manifest here, ${manifest.kind} .*${problem}`)),
    }),
  );
});
