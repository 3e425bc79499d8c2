import type { Manifest } from "../../../api/kubernetes.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { manifestOf } from "./prepared.ts";

/** A rendered set of a few objects. */
export function renderedOf(...manifests: Manifest[]): Rendered {
  return {
    version: "1.23.0",
    manifests,
    deletions: [],
    unusedConfig: [],
    paths: [],
    hash: JSON.stringify(manifests),
  };
}

export const port = { name: "http", containerPort: 80 };
export const probe = { httpGet: { path: "/", port: 80 } };
export const variable = {
  name: "POD",
  valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } },
};

/** A Deployment `main` with a port, a probe, a variable and a volume. */
export function workload(namespace: string, spec: object = {}): Manifest {
  const labels = { app: "main" };
  const main = {
    name: "main",
    image: "example.com/main:1",
    ports: [port],
    readinessProbe: probe,
    env: [variable],
  };
  const volumes = [{ name: "data", configMap: { name: "data" } }];
  const template = { metadata: { labels }, spec: { containers: [main], volumes } };
  return manifestOf(`apps/v1 Deployment ${namespace}/main`, {
    spec: { selector: { matchLabels: labels }, template, ...spec },
  });
}

/** The Service of the workload. */
export function serviceOf(namespace: string): Manifest {
  return manifestOf(`v1 Service ${namespace}/main`, {
    spec: { selector: { app: "main" }, ports: [{ name: "http", port: 80, targetPort: 80 }] },
  });
}

/** The manifest with the label that every rendered object carries. */
export function named(manifest: Manifest, fields: object = {}): Manifest {
  const labels = { "app.kubernetes.io/name": "knative-eventing" };
  return { ...manifest, ...fields, metadata: { ...manifest.metadata, labels } };
}

/** A ConfigMap with the label. */
export function config(namespace: string, data: object, name = "config"): Manifest {
  return named(manifestOf(`v1 ConfigMap ${namespace}/${name}`), { data });
}

/** The workload, its Service and others, each with the label. */
export function setOf(namespace: string, ...others: Manifest[]): Rendered {
  return renderedOf(named(workload(namespace)), named(serviceOf(namespace)), ...others);
}
