import type { Manifest } from "../../api/kubernetes.ts";
import { definitionOf } from "../controller/hand-made-installation.ts";

const roofs = definitionOf("example.com", "v1", { Roof: "roofs" });

/** The definition of a kind without a namespace. */
export const roof: Manifest = {
  ...roofs,
  spec: { ...Object(roofs["spec"]), scope: "Cluster" },
};

/** Objects without a namespace, of kinds that upstream takes for namespaced ones; one of them comes with its definition. */
export const scopes: readonly Manifest[] = [
  roof,
  { apiVersion: "example.com/v1", kind: "Roof", metadata: { name: "flat" } },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: "scopes" },
    spec: { controller: "example.com/scopes" },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "scopes" },
    spec: {
      failurePolicy: "Ignore",
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ["example.com"],
            apiVersions: ["v1"],
            operations: ["CREATE"],
            resources: ["walls"],
          },
        ],
      },
      validations: [{ expression: "true" }],
    },
  },
];

const pod = { containers: [{ name: "main", image: "registry.example.com/main:1" }] };

/** Kinds that Eventing's release does not have, in a namespace and without one, of Kubernetes and of a user's own definitions. */
export const otherKinds: readonly Manifest[] = [
  ...scopes,
  definitionOf("example.com", "v1", { Beam: "beams" }),
  { apiVersion: "example.com/v1", kind: "Beam", metadata: { name: "long" } },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "kinds" },
    spec: { podSelector: {} },
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "kinds" },
    spec: {
      selector: { matchLabels: { app: "kinds" } },
      template: { metadata: { labels: { app: "kinds" } }, spec: pod },
    },
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "kinds" },
    spec: {
      schedule: "0 0 1 1 *",
      jobTemplate: { spec: { template: { spec: { ...pod, restartPolicy: "Never" } } } },
    },
  },
];

/** What the recommended role does not allow of them. */
export const rules = [
  {
    apiGroups: ["example.com", "networking.k8s.io"],
    resources: ["roofs", "beams", "ingressclasses", "networkpolicies"],
    verbs: ["*"],
  },
];

const labels = { app: "webhook" };

/** All that a KnativeServing of manifests of its own has. */
export const webhook: Manifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "webhook", namespace: "knative-serving" },
  spec: {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: "webhook", image: "registry.example.com/webhook:1" }] },
    },
  },
};
