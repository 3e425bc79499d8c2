import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Manifest } from "../../api/kubernetes.ts";

const usualVersions: readonly string[] = ["1.23.0"];
const namespace = "knative-eventing";

interface ThinOptions {
  readonly hasStatefulSet?: boolean;
  readonly hasClusterRole?: boolean;
}

/**
 * Writes a release of Eventing that has only objects in its namespace, so that one cluster can play many: each component of a test
 * in a namespace of its own. One Deployment, one ServiceAccount, as many ConfigMaps as wanted, and a StatefulSet or a ClusterRole, which only one component of a cluster can have, if wanted. Returns the release directory.
 */
export async function writeThinRelease(
  folder: string,
  configMaps: number,
  versions = usualVersions,
  { hasStatefulSet = false, hasClusterRole = false }: ThinOptions = {},
): Promise<string> {
  for (const version of versions) {
    const part = join(folder, "thin-release", "knative-eventing", version);
    await mkdir(part, { recursive: true });
    const manifests: readonly Manifest[] = [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: "thin" } },
      ...Array.from({ length: configMaps }, (_, index) => configMap(index)),
      deploymentOf(version),
      ...(hasStatefulSet ? [statefulSetOf(version)] : []),
      ...(hasClusterRole ? [clusterRole] : []),
    ];
    await writeFile(join(part, "1-thin.yaml"), manifests.map(documentOf).join("---\n"));
  }
  return join(folder, "thin-release");
}

const clusterRole: Manifest = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "thin" },
  rules: [],
};

const app = { app: "thin" };

function deploymentOf(version: string): Manifest {
  const image = `registry.example.com/thin:${version}`;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name: "thin" },
    spec: {
      selector: { matchLabels: app },
      template: {
        metadata: { labels: app },
        spec: { containers: [{ name: "thin", image }] },
      },
    },
  };
}

/** Without replicas, as most workloads of releases. */
function statefulSetOf(version: string): Manifest {
  const labels = { app: "keeper" };
  const image = `registry.example.com/keeper:${version}`;
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { namespace, name: "keeper" },
    spec: {
      serviceName: "keeper",
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "keeper", image }] } },
    },
  };
}

function configMap(index: number): Manifest {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: `thin-${String(index).padStart(3, "0")}` },
    data: { index: String(index) },
  };
}

// JSON is YAML.
function documentOf(manifest: Manifest): string {
  return `${JSON.stringify(manifest)}\n`;
}
