import { type Component, componentKinds } from "../../../../../api/component.ts";
import type { Manifest } from "../../../../../api/kubernetes.ts";
import { conditionNames } from "../../../../e2e/installation.ts";

/** What upstream's operator says of a component that is Ready. Spec: knative-operator.md 2.7, 4.5. */
export function upstreamStatus({ kind, metadata }: Component): object {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return {
    conditions: conditionNames.map((type) => ({ type, status: "True", lastTransitionTime })),
    manifests: [`/var/run/ko/${componentKinds[kind].label}/1.23.0`],
    observedGeneration: metadata.generation,
    version: "1.23.0",
  };
}

/** Namespace of upstream's operator. */
export const operatorNamespace = "knative-operator";

const helm = {
  labels: { "app.kubernetes.io/managed-by": "Helm" },
  annotations: {
    "meta.helm.sh/release-name": "knative-operator",
    "meta.helm.sh/release-namespace": operatorNamespace,
  },
};

/** A Deployment of the chart of upstream's operator, of the version that has canonical namespaces. */
export function deploymentOf(
  name: string,
): Manifest & { readonly metadata: { readonly name: string } } {
  const labels = { name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: operatorNamespace, name, ...helm },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name, image: `example.org/${name}:1.24.0` }] },
      },
    },
  };
}

/** A role of that chart. */
export const operatorRole: Manifest = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "knative-operator", ...helm },
  rules: [],
};
/** Where Helm remembers the release. */
export const helmRecord: Manifest = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    namespace: operatorNamespace,
    name: "sh.helm.release.v1.knative-operator.v1",
    labels: { owner: "helm", name: "knative-operator" },
  },
};
