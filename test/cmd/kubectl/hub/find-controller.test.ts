import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { UsageError } from "../../../../cmd/kubectl/errors.ts";
import { controllersAmong, onlyController } from "../../../../cmd/kubectl/hub/find-controller.ts";
import { recordedBinding } from "../controller-binding.ts";
import { deployment } from "../fleet-facts.ts";

const plain = recordedBinding("knfleet", "team-a");

/** A binding that differs from that of the chart. */
function binding({
  role = "knfleet-controller",
  labels = plain.metadata.labels,
  subject = { kind: "ServiceAccount", namespace: "team-a", name: "default" },
}: {
  readonly role?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly subject?: object;
}): KubeObject {
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role };
  return { ...plain, metadata: { ...plain.metadata, labels }, roleRef, subjects: [subject] };
}

function found(bindings: readonly KubeObject[], name = "any") {
  const object = deployment({ name, owner: null });
  return controllersAmong([object], bindings).map(({ flavour }) => flavour);
}

describe("a Deployment is a controller by the ClusterRole of its ServiceAccount", () => {
  test.each([
    ["of the chart", binding({}), "knfleet"],
    ["of a release with another name", binding({ role: "prod-knfleet-controller" }), "knfleet"],
    ["of docs/hub-role.yaml", binding({ role: "knfleet-hub", labels: {} }), "knfleet"],
    [
      "of upstream's operator for Serving",
      binding({ role: "knative-serving-operator", labels: {} }),
      "upstream",
    ],
    [
      "of upstream's operator for Eventing",
      binding({ role: "knative-eventing-operator", labels: {} }),
      "upstream",
    ],
    // RBAC knows a ServiceAccount by this name of a user, too.
    [
      "that is bound by the name of its user",
      binding({ subject: { kind: "User", name: "system:serviceaccount:team-a:default" } }),
      "knfleet",
    ],
  ])("%s", (_, one, flavour) => {
    expect(found([one])).toEqual([flavour]);
  });

  test.each([
    ["without a binding", []],
    [
      "with what register makes for another hub, whose spoke this hub is",
      [
        binding({
          role: "knfleet-spoke",
          labels: { "app.kubernetes.io/managed-by": "knfleet-register" },
        }),
      ],
    ],
    ["with a role of another program of that name", [binding({ labels: {} })]],
    ["with another role of the chart", [binding({ role: "knfleet-controller-pull" })]],
    ["whose ServiceAccount is in another namespace", [recordedBinding("knfleet", "team-b")]],
    ["whose namespace alone is bound", [recordedBinding("upstream", "team-a", "knative-operator")]],
    [
      "whose group is bound",
      [binding({ subject: { kind: "Group", namespace: "team-a", name: "default" } })],
    ],
  ])("and none %s, whatever its name says", (_, bindings) => {
    expect(found(bindings, "knative-operator")).toEqual([]);
    expect(found(bindings, "knfleet-controller")).toEqual([]);
  });
});

test.each([
  "default",
  "team-a/default",
  "system:serviceaccount:team-a",
  "system:serviceaccount:team-b:default",
])("a binding of user %s makes nobody a controller", (name) => {
  expect(found([binding({ subject: { kind: "User", namespace: "team-a", name } })])).toEqual([]);
});

test("two Deployments that may be the controller are a refusal that names both", () => {
  const objects = ["one", "two"].map((name) => deployment({ name, owner: null }));
  const all = controllersAmong(objects, [plain]);
  expect(onlyController(all, "upstream")).toBeUndefined();
  expect(() => onlyController(all, "knfleet")).toThrow(UsageError);
  expect(() => onlyController(all, "knfleet")).toThrow(
    "2 Deployments of the hub may be the controller of knfleet: Deployment team-a/one, Deployment team-a/two",
  );
});
