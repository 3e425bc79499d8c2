import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { BinaryPaths } from "./binary-catalogue.ts";
import type { Cluster } from "./cluster.ts";
import { readManifests } from "./manifest-files.ts";
import { credentialNamespace, type PluginName } from "./profiles.ts";

const projectRoot = join(import.meta.dirname, "..", "..");
const plugins: readonly PluginName[] = ["secretreader", "kubeconfig-secretreader"];

/** The ClusterRole that the documentation recommends for spokes. */
export const spokeRoleFile = join(projectRoot, "docs", "spoke-role.yaml");

const hubRoleFile = join(projectRoot, "docs", "hub-role.yaml");

/** CRDs of this project's chart, generated from api/schema. */
export const chartCrdFolder = join(projectRoot, "charts", "knfleet", "files", "crds");

/** Applies the manifests of a file. */
export async function applyFile(cluster: Cluster, file: string): Promise<void> {
  for (const manifest of await readManifests(file)) await cluster.admin.apply(manifest);
}

/**
 * Writes the provider file that names both official plugins, in this order: secretreader, kubeconfig-secretreader. They
 * reach the hub as a ServiceAccount that may get Secrets in the credential namespace and nothing else.
 */
export async function writeProviderFile(
  hub: Cluster,
  binary: BinaryPaths<PluginName>,
): Promise<string> {
  const { token } = await hub.serviceAccountToken({
    namespace: credentialNamespace,
    name: "exec-plugins",
    namespaceRules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
  });
  const kubeconfig = await hub.writeKubeconfig("exec-plugins.kubeconfig", {
    identity: { token },
    namespace: credentialNamespace,
  });
  const providers = plugins.map((name) => ({
    name,
    execConfig: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: binary(name),
      env: [{ name: "KUBECONFIG", value: kubeconfig }],
      provideClusterInfo: true,
      interactiveMode: "Never",
    },
  }));
  const file = join(hub.folder, "clusterprofile-provider-file.json");
  await writeFile(file, `${JSON.stringify({ providers }, undefined, 2)}\n`, { mode: 0o600 });
  return file;
}

/**
 * Writes a kubeconfig for the controller: ServiceAccount `knfleet-system/knfleet-controller` with exactly the rights of the
 * documentation, those for components on the hub itself included.
 */
export async function writeControllerKubeconfig(hub: Cluster): Promise<string> {
  await applyFile(hub, hubRoleFile);
  await applyFile(hub, spokeRoleFile);
  const { token } = await hub.serviceAccountToken({
    namespace: "knfleet-system",
    name: "knfleet-controller",
    clusterRoles: ["knfleet-spoke"],
  });
  return hub.writeKubeconfig("controller.kubeconfig", {
    identity: { token },
    namespace: "knfleet-system",
  });
}
