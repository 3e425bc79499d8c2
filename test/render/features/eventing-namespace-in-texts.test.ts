import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { namespaceInTexts } from "../../../render/features/eventing.ts";

const variable = (name: string, value: string) => ({ name, value });

function objects(namespace: string): readonly Manifest[] {
  const labels = { "kubernetes.io/metadata.name": namespace };
  const env = [
    variable("BROKER_DATA_PLANE_CONFIG_MAP_NAMESPACE", namespace),
    variable("CHANNEL_DATA_PLANE_CONFIG_MAP_NAMESPACE", namespace),
    variable("SINK_DATA_PLANE_CONFIG_MAP_NAMESPACE", namespace),
    variable("OTHER", "knative-eventing"),
  ];
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "config-br-defaults" },
      data: {
        "default-br-config": `clusterDefault:\n  name: knative-eventing\n  namespace: ${namespace}\n  x: y\n`,
      },
    },
    {
      apiVersion: "cert-manager.io/v1",
      kind: "Certificate",
      metadata: { name: "a" },
      spec: {
        dnsNames: [`a.${namespace}.svc.cluster.local`, `a.${namespace}.svc`, "knative-eventing"],
        issuerRef: { name: "knative-eventing-ca-issuer" },
      },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "kafka-controller" },
      spec: { template: { spec: { containers: [{ name: "controller", env }] } } },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "pods.defaulting.webhook.kafka.eventing.knative.dev" },
      webhooks: [{ name: "a", namespaceSelector: { matchLabels: labels } }],
    },
    ...["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"].map((kind) => ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name: "config.webhook.eventing.knative.dev" },
      webhooks: [
        {
          name: "a",
          namespaceSelector: {
            matchExpressions: [
              { key: "kubernetes.io/metadata.name", operator: "In", values: ["a", namespace] },
              { key: "other", operator: "NotIn", values: ["knative-eventing"] },
              { key: "kubernetes.io/metadata.name", operator: "Exists" },
            ],
          },
        },
      ],
    })),
  ];
}

describe("texts that name the namespace of Eventing", () => {
  test("follow it", () => {
    expect(objects("knative-eventing").map(namespaceInTexts("mine"))).toEqual(objects("mine"));
  });

  test("stay in the usual one, and where they name another already", () => {
    const before = objects("knative-eventing");
    expect(before.map(namespaceInTexts("knative-eventing"))).toEqual(before);
    expect(objects("theirs").map(namespaceInTexts("mine"))).toEqual(objects("theirs"));
  });
});
