import { expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { stripManifests } from "../../installation/strip-manifests.ts";
import { manifestOf } from "../controller/apply/prepared.ts";

const webhooks = "admissionregistration.k8s.io/v1";
const rbac = "rbac.authorization.k8s.io/v1";
const deployment = manifestOf("apps/v1 Deployment knative/webhook", {
  spec: { replicas: 2, paused: true },
});
const scaler = manifestOf("autoscaling/v2 HorizontalPodAutoscaler knative/webhook", {
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "webhook" },
    minReplicas: 2,
  },
});

const injected = { "cert-manager.io/inject-ca-from": "a/b" };

interface Case {
  readonly name: string;
  readonly before: Manifest;
  readonly after: object;
  readonly others?: readonly Manifest[];
  readonly annotations?: Readonly<Record<string, string>>;
}

const cases: readonly Case[] = [
  {
    name: "nulls, but for items of lists",
    before: manifestOf("apps/v1 Deployment knative/a", {
      spec: { replicas: null, template: { spec: { affinity: null, tolerations: [null] } } },
    }),
    after: { spec: { template: { spec: { tolerations: [null] } } } },
  },
  {
    name: "webhook rules and CA bundles",
    before: manifestOf(`${webhooks} ValidatingWebhookConfiguration w`, {
      webhooks: [
        {
          name: "webhook.serving.knative.dev",
          rules: [{ apiGroups: ["*"] }],
          clientConfig: { caBundle: "x", service: { name: "s" } },
          namespaceSelector: {},
        },
      ],
    }),
    after: {
      webhooks: [
        {
          name: "webhook.serving.knative.dev",
          clientConfig: { service: { name: "s" } },
          namespaceSelector: {},
        },
      ],
    },
  },
  {
    name: "rules of a webhook of whose bundle nobody tells",
    before: manifestOf(`${webhooks} MutatingWebhookConfiguration w`, {
      webhooks: [{ name: "a", rules: [{ apiGroups: ["*"] }], clientConfig: { service: {} } }],
    }),
    after: { webhooks: [{ name: "a", clientConfig: { service: {} } }] },
  },
  {
    name: "rules of an aggregated role",
    before: manifestOf(`${rbac} ClusterRole r`, {
      aggregationRule: { clusterRoleSelectors: [] },
      rules: [],
    }),
    after: { aggregationRule: { clusterRoleSelectors: [] } },
  },
  {
    name: "the CA bundle of a conversion webhook",
    before: manifestOf("apiextensions.k8s.io/v1 CustomResourceDefinition a.sources.knative.dev", {
      spec: {
        conversion: {
          strategy: "Webhook",
          webhook: { clientConfig: { caBundle: "x", service: {} } },
        },
      },
    }),
    after: {
      spec: { conversion: { strategy: "Webhook", webhook: { clientConfig: { service: {} } } } },
    },
  },
  {
    name: "the placeholder of a CA bundle that is injected",
    before: {
      ...manifestOf(`${webhooks} ValidatingWebhookConfiguration w`, {
        webhooks: [
          { name: "a.example.com", rules: [{}], clientConfig: { caBundle: "Cg==", service: {} } },
        ],
      }),
      metadata: { name: "w", annotations: injected },
    },
    after: { webhooks: [{ name: "a.example.com", rules: [{}], clientConfig: { service: {} } }] },
    annotations: injected,
  },
  {
    name: "that of a conversion webhook",
    before: {
      ...manifestOf("apiextensions.k8s.io/v1 CustomResourceDefinition a.example.com", {
        spec: { conversion: { webhook: { clientConfig: { caBundle: "Cg==", service: {} } } } },
      }),
      metadata: { name: "a.example.com", annotations: injected },
    },
    after: { spec: { conversion: { webhook: { clientConfig: { service: {} } } } } },
    annotations: injected,
  },
  {
    name: "data of a Secret that a controller fills",
    before: manifestOf("v1 Secret knative/webhook-certs", { type: "Opaque", data: {} }),
    after: { type: "Opaque" },
  },
  {
    name: "addresses of a Service, but not the node ports that a user chose,",
    before: manifestOf("v1 Service knative/s", {
      spec: {
        clusterIP: "10.0.0.1",
        clusterIPs: ["10.0.0.1"],
        ports: [{ port: 80, nodePort: 30_000 }],
      },
    }),
    after: { spec: { ports: [{ port: 80, nodePort: 30_000 }] } },
  },
  {
    name: "replicas of a Deployment that is scaled",
    before: deployment,
    after: { spec: { paused: true } },
    others: [scaler],
  },
  {
    name: "status and server-written metadata",
    before: {
      ...manifestOf("v1 ConfigMap knative/a"),
      metadata: { namespace: "knative", name: "a", uid: "u", resourceVersion: "3", generation: 1 },
      status: {},
    },
    after: {},
  },
];

test.each(cases)("$name are never sent", ({ before, after, others = [], annotations }) => {
  const { apiVersion, kind, metadata } = before;
  const { namespace, name } = metadata;
  const own = namespace === undefined ? { name } : { namespace, name };
  const kept = annotations === undefined ? own : { ...own, annotations };
  expect(stripManifests([before, ...others])[0]).toEqual({
    apiVersion,
    kind,
    metadata: kept,
    ...after,
  });
});

test.each([
  {
    name: "rules of an ordinary role",
    manifest: manifestOf(`${rbac} ClusterRole r`, { rules: [] }),
  },
  {
    name: "rules and CA bundle of a user's own webhook",
    manifest: manifestOf(`${webhooks} ValidatingWebhookConfiguration w`, {
      webhooks: [
        { name: "a.example.com", rules: [{}], clientConfig: { caBundle: "x", service: {} } },
      ],
    }),
  },
  {
    name: "rules of a webhook whose CA bundle is injected",
    manifest: {
      ...manifestOf(`${webhooks} ValidatingWebhookConfiguration w`, {
        webhooks: [{ name: "a.example.com", rules: [{}], clientConfig: { service: {} } }],
      }),
      metadata: { name: "w", annotations: { "cert-manager.io/inject-ca-from": "a/b" } },
    },
  },
  {
    name: "the CA bundle of a user's own conversion webhook",
    manifest: manifestOf("apiextensions.k8s.io/v1 CustomResourceDefinition a.example.com", {
      spec: { conversion: { webhook: { clientConfig: { caBundle: "x" } } } },
    }),
  },
  {
    name: "data of any other Secret",
    manifest: manifestOf("v1 Secret knative/mine", { data: { a: "Yg==" } }),
  },
  { name: "replicas of a Deployment that nobody scales", manifest: deployment },
  {
    name: "the address of a headless Service",
    manifest: manifestOf("v1 Service knative/s", { spec: { clusterIP: "None" } }),
  },
  {
    name: "replicas of another namespace's Deployment",
    manifest: { ...deployment, metadata: { namespace: "b", name: "webhook" } },
    others: [scaler],
  },
])("$name are sent as they are", ({ manifest, others = [] }) => {
  expect(stripManifests([manifest, ...others])[0]).toBe(manifest);
});
