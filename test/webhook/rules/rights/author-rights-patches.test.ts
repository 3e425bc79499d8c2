import { describe, expect, test } from "vitest";

import { inContainer, inPod, linesFor, patch, pod, refusals } from "./rightless-author.ts";

describe("a patch whose result depends on the object needs the right", () => {
  const whole = { metadata: { name: "controller" }, spec: {} };
  test.each([
    ["json", [{ op: "copy", from: "/spec/replicas", path: `${pod}/nodeSelector` }]],
    [
      "json",
      [{ op: "move", from: `${pod}/containers/0/securityContext`, path: "/metadata/labels/a" }],
    ],
    ["json", [{ op: "remove", path: `${pod}/containers/0/securityContext` }]],
    ["json", [{ op: "remove", path: `${pod}/containers/0` }]],
    ["json", [{ op: "replace", path: "", value: whole }]],
    ["json", [{ op: "replace", path: "spec", value: whole }]],
    ["json", [{ op: "replace", path: "/spec", value: { replicas: 1 } }]],
    ["json", [{ op: "replace", path: `${pod}/containers/0/env/3/value`, value: "mine" }]],
    ["json", [{ op: "add", path: `${pod}/containers/-`, value: { name: "mine", image: "mine" } }]],
    ["json", [{ op: "add", path: "/spec/constructor", value: 1 }]],
    ["json", [{ op: "Add", path: "/spec/replicas", value: 1 }]],
    [
      "json",
      [
        { op: "test", path: "/spec/replicas", value: 1 },
        { op: "add", path: `${pod}/hostPID`, value: true },
      ],
    ],
    ["json", { op: "add", path: "/spec/replicas", value: 1 }],
    ["merge", inPod({ containers: [{ name: "controller", env: [] }] })],
    ["merge", inPod({ containers: null })],
    ["merge", { spec: null }],
    ["merge", [1]],
    ["merge", "spec: ["],
    ["strategic", { $patch: "replace", spec: { replicas: 1 } }],
    ["strategic", inPod({ $patch: "replace", tolerations: [] })],
    ["strategic", inPod({ $retainKeys: ["containers"] })],
    ["strategic", inPod({ containers: [{ name: "controller", $patch: "replace" }] })],
    ["strategic", inPod({ containers: [{ $patch: "replace" }] })],
    ["strategic", inPod({ containers: [{}] })],
    ["strategic", inContainer({ args: ["-v", "--server=https://203.0.113.1"] })],
    ["strategic", inContainer({ env: [{ name: "A" }, { name: "KO_IMAGE" }] })],
    ["strategic", inPod({ containers: ["controller"] })],
    ["strategic", inPod({ containers: [{ name: "controller", $patch: "delete" }] })],
    ["strategic", inPod({ "$deleteFromPrimitiveList/finalizers": ["a"] })],
    ["strategic", inPod({ containers: [{ name: "mine", image: "mine" }] })],
    ["yaml", { spec: { replicas: 1 } }],
  ])("%s %j", async (type, content) => {
    const lines = await linesFor({ patches: [patch(type, content)] });
    expect(lines.filter((line) => line.startsWith("403 spec.patches[0]: "))).toHaveLength(1);
  });
});

describe("what is never patched without the right", () => {
  test.each([
    [
      "v1",
      "Namespace",
      "merge",
      { metadata: { labels: { "pod-security.kubernetes.io/enforce": "privileged" } } },
    ],
    ["v1", "Secret", "merge", { data: { a: "" } }],
    ["v1", "ServiceAccount", "merge", { imagePullSecrets: [] }],
    ["v1", "Pod", "merge", { metadata: { labels: { a: "b" } } }],
    [
      "apiextensions.k8s.io/v1",
      "CustomResourceDefinition",
      "json",
      [
        {
          op: "add",
          path: "/spec/conversion/webhook/clientConfig/url",
          value: "https://203.0.113.1",
        },
      ],
    ],
    [
      "admissionregistration.k8s.io/v1",
      "ValidatingWebhookConfiguration",
      "json",
      [{ op: "add", path: "/webhooks/0/clientConfig/url", value: "https://203.0.113.1" }],
    ],
    [
      "admissionregistration.k8s.io/v1",
      "MutatingWebhookConfiguration",
      "strategic",
      { $patch: "delete" },
    ],
    [
      "admissionregistration.k8s.io/v1",
      "ValidatingAdmissionPolicy",
      "merge",
      { metadata: { labels: {} } },
    ],
    ["rbac.authorization.k8s.io/v1", "ClusterRole", "merge", { rules: [] }],
    ["rbac.authorization.k8s.io/v1", "RoleBinding", "merge", { subjects: [] }],
    ["networking.k8s.io/v1", "NetworkPolicy", "strategic", { $patch: "delete" }],
    ["apiregistration.k8s.io/v1", "APIService", "merge", { spec: {} }],
    ["networking.istio.io/v1beta1", "Gateway", "merge", { spec: {} }],
    ["caching.internal.knative.dev/v1alpha1", "Image", "merge", { spec: { image: "mine" } }],
    ["apps/v1", "deployment", "merge", { spec: { replicas: 1 } }],
    ["apps/v1beta1", "Deployment", "merge", { spec: { replicas: 1 } }],
    ["v1", "Deployment", "merge", { spec: { replicas: 1 } }],
    ["toString", "constructor", "merge", {}],
  ])("%s %s", async (...[apiVersion, kind, type, content]) => {
    const target = { apiVersion, kind, name: "a" };
    expect(await refusals(patch(type, content, target))).toEqual([`"${apiVersion} ${kind}" needs`]);
  });

  test.each([
    ["v1", "Service", { spec: { externalIPs: ["203.0.113.1"] } }],
    ["v1", "Service", { spec: { type: "ExternalName", externalName: "203.0.113.1" } }],
    ["v1", "ConfigMap", { data: { "queue-sidecar-image": "mine" } }],
    ["v1", "ConfigMap", { data: { "kubernetes.podspec-volumes-hostpath": "enabled" } }],
    ["v1", "ConfigMap", { binaryData: {} }],
    ["apps/v1", "Deployment", { spec: { selector: {} } }],
    ["autoscaling/v2", "HorizontalPodAutoscaler", { spec: { scaleTargetRef: { name: "other" } } }],
    ["policy/v1", "PodDisruptionBudget", { spec: { selector: {} } }],
    ["apps/v1", "Deployment", { metadata: { generateName: "a" } }],
  ])("some fields of %s %s: %j", async (apiVersion, kind, content) => {
    expect(await refusals(patch("merge", content, { apiVersion, kind, name: "a" }))).toHaveLength(
      1,
    );
  });
});

const inJson = (path: string, value?: unknown) =>
  patch("json", [{ op: value === undefined ? "remove" : "add", path, value }]);

describe("without the right an author may", () => {
  const restricted = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    privileged: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
  };
  test.each([
    patch("strategic", "null"),
    patch("strategic", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "controller", labels: { a: "b" } },
    }),
    patch(
      "strategic",
      inContainer({
        env: [{ name: "A", value: "b" }],
        args: ["-v"],
        resources: { limits: { cpu: "1" } },
      }),
    ),
    patch("strategic", inContainer({ livenessProbe: null, readinessProbe: { periodSeconds: 2 } })),
    patch("strategic", inContainer({ securityContext: restricted })),
    patch(
      "strategic",
      inPod({
        hostNetwork: null,
        automountServiceAccountToken: false,
        "$setElementOrder/containers": [],
      }),
    ),
    patch(
      "strategic",
      inPod({ affinity: {}, tolerations: [], nodeSelector: {}, topologySpreadConstraints: [] }),
    ),
    patch("strategic", { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } }),
    patch(
      "strategic",
      { $patch: "delete" },
      { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler", name: "a" },
    ),
    patch("merge", {
      spec: {
        replicas: null,
        template: { metadata: { annotations: { "prometheus.io/port": "b" } } },
      },
    }),
    patch(
      "merge",
      { spec: { minAvailable: 1 } },
      { apiVersion: "policy/v1", kind: "PodDisruptionBudget", name: "a" },
    ),
    patch(
      "merge",
      { data: { a: "b" } },
      { apiVersion: "v1", kind: "ConfigMap", name: "config-network" },
    ),
    patch(
      "merge",
      { spec: { selector: { a: "b" } } },
      { apiVersion: "v1", kind: "Service", name: "a" },
    ),
    inJson("/spec/replicas", 2),
    inJson(`${pod}/containers/0/env/-`, { name: "A", value: "b" }),
    inJson(`${pod}/containers/0/args/0`, "-v"),
    inJson(`${pod}/containers/-1/env/0`),
    inJson(`${pod}/containers/0/livenessProbe`),
    inJson(`${pod}/tolerations/-`, { operator: "Exists" }),
    inJson("/metadata/annotations/a~1b", "c"),
  ])("%j", async (one) => {
    expect(await linesFor({ patches: [one] })).toEqual([]);
  });
});
