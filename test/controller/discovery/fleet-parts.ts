import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";

import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import type { KubeObject, Manifest, ObjectKey } from "../../../api/kubernetes.ts";
import { writeThinRelease } from "../../e2e/thin-release.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { applyFile } from "../../fleet/hub-access.ts";
import { conditionOf } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import {
  type ControllerProcess,
  startControllerProcess,
} from "../../support/controller-process.ts";

/** Namespaces on the hub: of the Secrets that discovery reads, and of the ClusterProfiles that it writes. */
export const credentials = "fleet-credentials";
export const profiles = "fleet";

/** The ServiceAccount on a spoke whose token the Secrets hold. */
export const account = {
  namespace: "knfleet",
  name: "knfleet-hub",
  clusterRoles: ["knfleet-spoke"],
};

/** Makes the namespaces of discovery on the hub. */
export async function applyNamespaces({ hub }: Fleet): Promise<void> {
  for (const name of [credentials, profiles, "knfleet-system"]) {
    await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}

/** Starts a controller that discovers, with exactly the rights of docs/discovery-role.yaml beside its own. */
export async function startDiscovery(
  fleet: Fleet,
  producers: readonly string[],
): Promise<ControllerProcess> {
  const { hub, folder } = fleet;
  const kubeconfig = await fleet.controllerKubeconfig();
  await applyFile(hub, join(import.meta.dirname, "../../../docs/discovery-role.yaml"));
  return await startControllerProcess({
    kubeconfig,
    providerFile: await writeProviders(folder),
    releaseDir: await writeThinRelease(folder, 2),
    flags: [
      `--discover=${producers.join(",")}`,
      `--discover-namespace=${profiles}`,
      `--discover-source-namespace=${credentials}`,
    ],
  });
}

/** The labels and the key by which a Secret is known as a kubeconfig; those of a Secret of Cluster API when told. */
interface SecretParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly key?: string;
}

const label = { "sigs.k8s.io/multicluster-runtime-kubeconfig": "true" };

/** A Secret that tells of a cluster. */
export function kubeconfigSecret(
  name: string,
  text: string,
  { labels = label, key = "kubeconfig" }: SecretParts = {},
): Manifest {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: credentials, name, labels },
    stringData: { [key]: text },
  };
}

/** Of a ClusterProfile that discovery writes. */
export function profileKey(name: string): ObjectKey {
  const apiVersion = clusterProfileApiVersion;
  return { apiVersion, kind: "ClusterProfile", namespace: profiles, name };
}

/** A server that takes connections and never says a word. */
export async function startBlackHole(): Promise<Server> {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Writes a provider file with the built-in reader of kubeconfigs. */
async function writeProviders(folder: string): Promise<string> {
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "builtin:kubeconfig-secretreader",
    provideClusterInfo: true,
  };
  const file = join(folder, "discovery-providers.json");
  const providers = [{ name: "kubeconfig-secretreader", execConfig }];
  await writeFile(file, JSON.stringify({ providers }));
  return file;
}

/** Status and reason of ControlPlaneHealthy. */
export function healthOf(profile: KubeObject | undefined): string {
  const { status, reason } = { ...conditionOf(profile, "ControlPlaneHealthy") };
  return `${String(status)} ${String(reason)}`;
}

/** Waits until a ClusterProfile is there whose ControlPlaneHealthy has this status and this reason, such as `True Ready`. */
export async function profileWith(
  { hub }: Fleet,
  name: string,
  health: string,
): Promise<KubeObject> {
  return await waitFor(`profile ${name} to be ${health}`, async () => {
    const profile = await hub.admin.get(profileKey(name));
    return profile !== undefined && healthOf(profile) === health && profile;
  });
}
