import { gzipSync } from "node:zlib";

import { type Component, componentKinds } from "../../../../../api/component.ts";
import type { Manifest } from "../../../../../api/kubernetes.ts";
import { conditionNames } from "../../../../e2e/installation.ts";
import { controllerBinding } from "../../controller-binding.ts";

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
  serviceAccountName = name,
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
        spec: { serviceAccountName, containers: [{ name, image: `example.org/${name}:1.24.0` }] },
      },
    },
  };
}

/** A ServiceAccount of that chart. */
export function accountOf(name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { namespace: operatorNamespace, name, ...helm },
  };
}

/** A role of that chart. */
export const operatorRole: Manifest = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "knative-operator", ...helm },
  rules: [],
};

interface Release {
  readonly name: string;
  readonly namespace: string;
}

/** The bindings by which upstream's operator and its webhook are known, as Helm makes them. */
export function operatorBindings({
  namespace,
  release,
}: {
  readonly namespace: string;
  readonly release: Release;
}): readonly Manifest[] {
  const binding = controllerBinding("upstream", namespace, "knative-operator");
  const annotations = {
    "meta.helm.sh/release-name": release.name,
    "meta.helm.sh/release-namespace": release.namespace,
  };
  const metadata = { labels: helm.labels, annotations };
  const name = "operator-webhook";
  return [
    { ...binding, metadata: { ...binding.metadata, ...metadata } },
    {
      ...binding,
      metadata: { name, ...metadata },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "knative-operator-webhook",
      },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    },
  ];
}

/** Where Helm remembers a release of a chart. */
export function helmRecordOf({ name, namespace }: Release, chart: string): Manifest {
  const content = JSON.stringify({ name, namespace, chart: { metadata: { name: chart } } });
  const packed = gzipSync(content).toString("base64");
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace,
      name: `sh.helm.release.v1.${name}.v1`,
      labels: { owner: "helm", name },
    },
    data: { release: Buffer.from(packed).toString("base64") },
  };
}

/** A Lease that is held for an hour. */
export function leaseOf(namespace: string, name: string): Manifest {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace, name },
    spec: {
      holderIdentity: "pod-a",
      leaseDurationSeconds: 3_600,
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    },
  };
}
